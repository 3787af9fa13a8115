/**
 * - `namespace`: only objects of this namespace. Without it, all namespaces, which needs a grant without a namespace.
 * - `labels`, `fields`: selectors of Kubernetes.
 * - `pageSize`: the objects of a page, 500 by default.
 *
 * @typedef {{ namespace?: string, labels?: string, fields?: string, pageSize?: number }} ListOptions
 */
/**
 * - `dryRun`: the server checks the request and answers, but changes nothing.
 * - `subresource`: such as `status` or `scale`.
 *
 * @typedef {{ dryRun?: boolean, subresource?: string }} WriteOptions
 */
/**
 * - `uid`, `resourceVersion`: delete only this object, or this version.
 * - `propagation`: how dependents are deleted.
 *
 * @typedef {{ dryRun?: boolean, uid?: string, resourceVersion?: string,
 *   propagation?: "background" | "foreground" | "orphan" }} DeleteOptions
 */
/**
 * An Event of Kubernetes, which `kubectl describe` shows. `reason` says why (`ScaledUp`) and `action` what was done (`Scaling`), both
 * as one word in CamelCase. `note` is a sentence for people, at most 1 KiB.
 *
 * @typedef {{ reason: string, action: string, note?: string, warning?: boolean }} ObjectEvent
 */
/**
 * Reads an object from the API server.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {{ subresource?: string }} [options]
 * @returns {Resource}
 */
export function get(gvr: string, name: ObjectName, { subresource }?: {
    subresource?: string;
}): Resource;
/**
 * Lists objects from the API server, page by page.
 *
 * @param {string} gvr
 * @param {ListOptions} [options]
 * @returns {Generator<Resource, void, void>}
 */
export function list(gvr: string, { namespace, labels, fields, pageSize }?: ListOptions): Generator<Resource, void, void>;
/**
 * Creates an object, in the namespace of its metadata. Returns it as the server answered.
 *
 * @param {string} gvr
 * @param {Resource} object
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function create(gvr: string, object: Resource, options?: WriteOptions): Resource;
/**
 * Replaces an object. Fails with the code `conflict` if its `resourceVersion` is not the current one.
 *
 * @param {string} gvr
 * @param {Resource} object
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function update(gvr: string, object: Resource, options?: WriteOptions): Resource;
/**
 * Changes parts of an object by a JSON merge patch (RFC 7386): `null` removes a field, and an array replaces the whole array.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object} body
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function mergePatch(gvr: string, name: ObjectName, body: object, options?: WriteOptions): Resource;
/**
 * Changes parts of an object by the operations of a JSON patch (RFC 6902).
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object[]} operations
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function jsonPatch(gvr: string, name: ObjectName, operations: object[], options?: WriteOptions): Resource;
/**
 * Changes parts of an object of a built-in kind by a strategic merge patch: arrays merge by the keys of their type.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object} body
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function strategicMergePatch(gvr: string, name: ObjectName, body: object, options?: WriteOptions): Resource;
/**
 * Applies the fields that the plugin wants to own (server-side apply). It creates an object that does not exist. It needs `apply` in
 * the grant. Fails with the code `conflict` if another manager owns a field, unless `force` is true.
 *
 * @param {string} gvr
 * @param {Resource} object with `apiVersion`, `kind` and the name
 * @param {WriteOptions & { force?: boolean }} [options]
 * @returns {Resource}
 */
export function apply(gvr: string, object: Resource, options?: WriteOptions & {
    force?: boolean;
}): Resource;
/**
 * Deletes an object. It stays until its finalizers are removed.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {DeleteOptions} [options]
 */
export function deleteObject(gvr: string, name: ObjectName, { dryRun, uid, resourceVersion, propagation }?: DeleteOptions): void;
/**
 * Records an Event about an object. The same Event within ten minutes raises the count of the first one. It needs `create
 * events.k8s.io/v1/events` in the grant.
 *
 * @param {string} gvr the resource of the object
 * @param {ObjectName} about
 * @param {ObjectEvent} event
 */
export function recordEvent(gvr: string, about: ObjectName, { reason, action, note, warning }: ObjectEvent): void;
/**
 * Calls a function again if it throws an `ApiError` with the code `conflict`, at most five times in all. In each call, the function must
 * read the object anew from `client`, because the cache may still have the old version.
 *
 * @template T
 * @param {() => T} attempt
 * @returns {T}
 */
export function retryOnConflict<T>(attempt: () => T): T;
/**
 * Reads an object, changes it and replaces it, again after a conflict. `change` changes the parsed object and returns nothing, or returns
 * another object of Kubernetes. If `change` returns anything else, `modify` throws a `TypeError`. If nothing is different afterwards,
 * nothing is sent. Everything else in the object stays exactly as it is, large numbers included. Returns the object after the write.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {(object: Resource) => Resource | void} change
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function modify(gvr: string, name: ObjectName, change: (object: Resource) => Resource | void, options?: WriteOptions): Resource;
/**
 * - `namespace`: only objects of this namespace. Without it, all namespaces, which needs a grant without a namespace.
 * - `labels`, `fields`: selectors of Kubernetes.
 * - `pageSize`: the objects of a page, 500 by default.
 */
export type ListOptions = {
    namespace?: string;
    labels?: string;
    fields?: string;
    pageSize?: number;
};
/**
 * - `dryRun`: the server checks the request and answers, but changes nothing.
 * - `subresource`: such as `status` or `scale`.
 */
export type WriteOptions = {
    dryRun?: boolean;
    subresource?: string;
};
/**
 * - `uid`, `resourceVersion`: delete only this object, or this version.
 * - `propagation`: how dependents are deleted.
 */
export type DeleteOptions = {
    dryRun?: boolean;
    uid?: string;
    resourceVersion?: string;
    propagation?: "background" | "foreground" | "orphan";
};
/**
 * An Event of Kubernetes, which `kubectl describe` shows. `reason` says why (`ScaledUp`) and `action` what was done (`Scaling`), both
 * as one word in CamelCase. `note` is a sentence for people, at most 1 KiB.
 */
export type ObjectEvent = {
    reason: string;
    action: string;
    note?: string;
    warning?: boolean;
};
import type { ObjectName } from "./object.js";
import type { Resource } from "./object.js";
