/** @import { ObjectKey, ObjectName, Resource } from "./object.js" */
/**
 * Selects objects. All conditions must hold.
 *
 * - `namespace`: only objects of this namespace.
 * - `labels`: a Kubernetes label selector, like `app=web,tier!=cache`.
 * - `index`: the name of an index of the watch, and the value.
 * - `pageSize`: the objects of a page; the host decides without it.
 *
 * @typedef {{ namespace?: string, labels?: string, index?: [string, string], pageSize?: number }} Selector
 */
/**
 * The object as it is in the cache; `undefined` if there is none.
 *
 * @param {string} gvr the resource, for example `apps/v1/deployments`
 * @param {ObjectName} name
 * @returns {Resource | undefined}
 */
export function get(gvr: string, name: ObjectName): Resource | undefined;
/**
 * The values at JSON pointers in the order of the pointers, each `undefined` if there is none. Returns `undefined` if there is no
 * such object.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {string[]} pointers
 * @returns {any[] | undefined}
 */
export function getFields(gvr: string, name: ObjectName, pointers: string[]): any[] | undefined;
/**
 * The objects of a resource, parsed.
 *
 * @param {string} gvr
 * @param {Selector} [selector]
 * @returns {Generator<Resource, void, void>}
 */
export function list(gvr: string, selector?: Selector): Generator<Resource, void, void>;
/**
 * The metadata of the objects of a resource.
 *
 * @param {string} gvr
 * @param {Selector} [selector]
 * @returns {Generator<ObjectMeta, void, void>}
 */
export function listMeta(gvr: string, selector?: Selector): Generator<ObjectMeta, void, void>;
/**
 * The values at JSON pointers of the objects of a resource, each `undefined` if there is none. Nothing else is parsed.
 *
 * @param {string} gvr
 * @param {string[]} pointers
 * @param {Selector} [selector]
 * @returns {Generator<{ key: ObjectKey, values: any[] }, void, void>}
 */
export function listFields(gvr: string, pointers: string[], selector?: Selector): Generator<{
    key: ObjectKey;
    values: any[];
}, void, void>;
/**
 * Returns true once the cache holds all objects of the resource.
 *
 * @param {string} gvr
 */
export function hasSynced(gvr: string): boolean;
/**
 * Waits until the cache is at least as new as a resource version, for example that of a write. Returns false if the time is over
 * before.
 *
 * @param {string} gvr
 * @param {string} resourceVersion
 * @param {{ namespace?: string, millis?: number }} [options] the namespace of the object, and the longest time to wait: 1000 by default
 */
export function waitUntil(gvr: string, resourceVersion: string, { namespace, millis }?: {
    namespace?: string;
    millis?: number;
}): boolean;
/**
 * Selects objects. All conditions must hold.
 *
 * - `namespace`: only objects of this namespace.
 * - `labels`: a Kubernetes label selector, like `app=web,tier!=cache`.
 * - `index`: the name of an index of the watch, and the value.
 * - `pageSize`: the objects of a page; the host decides without it.
 */
export type Selector = {
    namespace?: string;
    labels?: string;
    index?: [string, string];
    pageSize?: number;
};
import type { ObjectName } from "./object.js";
import type { Resource } from "./object.js";
import { ObjectMeta } from "./object.js";
import type { ObjectKey } from "./object.js";
