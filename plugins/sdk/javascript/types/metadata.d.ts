/** @import { ObjectMeta, Resource } from "./object.js" */
/**
 * Keeps a finalizer on an object that lives, and cleans up when the object is deleted.
 *
 * Returns true if the object lives and has the finalizer: go on with your work. Returns false if the object is being deleted. Then
 * `cleanup` was called and the finalizer is removed, unless an earlier call has done this. If `cleanup` throws, the finalizer stays and the
 * call is repeated. So `cleanup` may be called several times for an object. If `cleanup` is async, `finalize` throws a `PermanentError`,
 * and the finalizer stays. If the object was deleted after the state in `object`, a finalizer would come too late: the result is false, and
 * `cleanup` is not called.
 *
 * The plugin needs `update` of the resource in the grant, and a live read. If it declares the fields that it reads, `/metadata/finalizers`
 * must be one of them.
 *
 * @param {string} gvr
 * @param {Resource} object parsed: of `lister.get`, or `body` of a notification
 * @param {string} finalizer a name of yours, like `example.com/cleanup`
 * @param {(object: Resource) => void} cleanup
 * @returns {boolean}
 */
export function finalize(gvr: string, object: Resource, finalizer: string, cleanup: (object: Resource) => void): boolean;
/**
 * The entry of `metadata.ownerReferences` that names an owner.
 *
 * @param {Resource} owner parsed, with `apiVersion`, `kind`, name and UID
 * @param {{ controller?: boolean, blockOwnerDeletion?: boolean }} [options] both are true by default
 */
export function ownerReference(owner: Resource, { controller, blockOwnerDeletion }?: {
    controller?: boolean;
    blockOwnerDeletion?: boolean;
}): {
    apiVersion: string | undefined;
    kind: string | undefined;
    name: any;
    uid: any;
    controller: boolean;
    blockOwnerDeletion: boolean;
};
/**
 * Makes an object belong to an owner: the garbage collector of Kubernetes deletes it after the owner. Changes and returns the object;
 * nothing is sent. Throws if the object has another controller, or if the two are in different namespaces.
 *
 * @param {Resource} object
 * @param {Resource} owner
 * @param {{ controller?: boolean, blockOwnerDeletion?: boolean }} [options]
 */
export function setOwner(object: Resource, owner: Resource, options?: {
    controller?: boolean;
    blockOwnerDeletion?: boolean;
}): Resource;
import type { Resource } from "./object.js";
