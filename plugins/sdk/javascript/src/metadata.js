// Finalizers and owner references.

import { modify } from "./client.js";
import { ApiError, settled } from "./errors.js";
import { formatKey } from "./object.js";

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
export function finalize(gvr, object, finalizer, cleanup) {
  const has = (/** @type {Resource} */ { metadata }) => (metadata.finalizers ?? []).includes(finalizer);
  if (object.metadata.deletionTimestamp === undefined) {
    if (has(object)) return true;
    const now = modify(gvr, object, (current) => {
      // It may have been deleted meanwhile. The server refuses new finalizers then.
      if (has(current) || !same(current, object)) return;
      current.metadata.finalizers = [...(current.metadata.finalizers ?? []), finalizer];
    });
    return has(now) && same(now, object);
  }
  if (has(object)) {
    // An asynchronous clean-up could fail after the finalizer is gone.
    settled(cleanup(object), "cleanup");
    remove(gvr, object, (current) => {
      if (!has(current) || !same(current, object)) return;
      current.metadata.finalizers = current.metadata.finalizers.filter((/** @type {string} */ name) => name !== finalizer);
    });
  }
  return false;
}

/**
 * Removes a finalizer. An object that is gone has none.
 *
 * @param {string} gvr
 * @param {Resource} object
 * @param {(current: Resource) => void} change
 */
function remove(gvr, object, change) {
  try {
    modify(gvr, object, change);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "not-found") throw error;
  }
}

/**
 * Returns true if the object is still the same one, and no new one with its name.
 *
 * @param {Resource} current
 * @param {Resource} object
 */
function same(current, object) {
  return current.metadata.uid === object.metadata.uid
    && (current.metadata.deletionTimestamp === undefined) === (object.metadata.deletionTimestamp === undefined);
}

/**
 * The entry of `metadata.ownerReferences` that names an owner.
 *
 * @param {Resource} owner parsed, with `apiVersion`, `kind`, name and UID
 * @param {{ controller?: boolean, blockOwnerDeletion?: boolean }} [options] both are true by default
 */
export function ownerReference(owner, { controller = true, blockOwnerDeletion = true } = {}) {
  const { apiVersion, kind, metadata: { name, uid } } = owner;
  for (const [field, value] of Object.entries({ apiVersion, kind, name, uid })) {
    if (typeof value !== "string" || value === "") throw new TypeError(`the owner has no ${field}`);
  }
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

/**
 * Makes an object belong to an owner: the garbage collector of Kubernetes deletes it after the owner. Changes and returns the object;
 * nothing is sent. Throws if the object has another controller, or if the two are in different namespaces.
 *
 * @param {Resource} object
 * @param {Resource} owner
 * @param {{ controller?: boolean, blockOwnerDeletion?: boolean }} [options]
 */
export function setOwner(object, owner, options) {
  const reference = ownerReference(owner, options);
  /** @type {Array<ReturnType<typeof ownerReference>>} */
  const others = (object.metadata.ownerReferences ?? []).filter((/** @type {any} */ { uid }) => uid !== reference.uid);
  const controller = others.find((other) => other.controller);
  if (reference.controller && controller !== undefined) {
    throw new Error(`${formatKey(object)} is controlled by ${controller.kind} ${controller.name}`);
  }
  const { namespace = "" } = owner.metadata;
  if (namespace !== "" && namespace !== object.metadata.namespace) {
    throw new Error(`the owner ${formatKey(owner)} is in another namespace than ${formatKey(object)}`);
  }
  object.metadata.ownerReferences = [...others, reference];
  return object;
}
