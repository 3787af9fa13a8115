/** @import { ObjectKey, ObjectName, Resource } from "./object.js" */
/**
 * Selects objects. All conditions must hold.
 *
 * - `namespace`: only objects of this namespace. An empty one selects all, and needs a grant without a namespace.
 * - `labels`: a Kubernetes label selector, like `app=web,tier!=cache`.
 * - `index`: the name of an index of the watch, and the value.
 * - `pageSize`: the objects of a page; the host decides without it.
 *
 * @typedef {{ namespace?: string, labels?: string, index?: [string, string], pageSize?: number }} Selector
 */
/**
 * What a cache holds, and how old that may be.
 *
 * - `synced`: true if the first list of the resource is in the cache. Until then, lists are incomplete.
 * - `resourceVersion`: the version that the cache has reached. It is empty before the first list, and if the host watches several
 *   namespaces whose versions have no order.
 * - `ageMs`: the milliseconds since the API server last sent a list, an event or a bookmark; `undefined` before the first list. A healthy
 *   watch receives a bookmark about once a minute.
 *
 * @typedef {{ synced: boolean, resourceVersion: string, ageMs: number | undefined }} CacheState
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
 * The values of an index of the watch, each with the number of objects that have it, in the order of their bytes. The index `namespace`
 * always exists. Only objects that the plugin may read count.
 *
 * Pages are not of one snapshot: values that come and go meanwhile may be missing or present.
 *
 * @param {string} gvr
 * @param {string} index
 * @param {{ namespace?: string, pageSize?: number }} [options] the namespace of the objects, and the values of a page
 * @returns {Generator<{ value: string, objects: number }, void, void>}
 */
export function indexValues(gvr: string, index: string, { namespace, pageSize }?: {
    namespace?: string;
    pageSize?: number;
}): Generator<{
    value: string;
    objects: number;
}, void, void>;
/**
 * What the cache of a resource holds, and how old that may be. Use it before a decision that an old state would make wrong.
 *
 * @param {string} gvr
 * @returns {CacheState}
 */
export function state(gvr: string): CacheState;
/**
 * Returns true once the cache holds all objects of the resource.
 *
 * @param {string} gvr
 */
export function hasSynced(gvr: string): boolean;
/**
 * Waits until the cache is at least as new as a resource version, for example the version of a write. Returns false if the wait takes
 * longer than the time.
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
 * - `namespace`: only objects of this namespace. An empty one selects all, and needs a grant without a namespace.
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
/**
 * What a cache holds, and how old that may be.
 *
 * - `synced`: true if the first list of the resource is in the cache. Until then, lists are incomplete.
 * - `resourceVersion`: the version that the cache has reached. It is empty before the first list, and if the host watches several
 *   namespaces whose versions have no order.
 * - `ageMs`: the milliseconds since the API server last sent a list, an event or a bookmark; `undefined` before the first list. A healthy
 *   watch receives a bookmark about once a minute.
 */
export type CacheState = {
    synced: boolean;
    resourceVersion: string;
    ageMs: number | undefined;
};
import type { ObjectName } from "./object.js";
import type { Resource } from "./object.js";
import { ObjectMeta } from "./object.js";
import type { ObjectKey } from "./object.js";
