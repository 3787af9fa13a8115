/**
 * Requests to the API server. The host sends them with its own credentials, under the field manager `informer/NAME`. Each needs a
 * grant under `write` of `[plugin.grant]`, a live read one under `read`. A request that fails throws an `ApiError`.
 *
 * A write leads to a notification, for this plugin as well: compare before you write, or use `isOwnWrite`.
 *
 * A write does not round numbers. Those of an object that `get` or a write returned keep their digits, although JavaScript shows a whole
 * number above 9,007,199,254,740,991 rounded. Write a new one as a `bigint`. A write throws a `TypeError` for a number whose digits may be
 * lost, such as one of an object of the cache: change that object by `modify`.
 *
 * @module
 */

import * as host from "informer:plugin/client@0.2.0";

import { ApiError, call, count, settled, shown, text } from "./errors.js";
import { isText, parse, stringify } from "./json.js";
import { keyOf } from "./object.js";
import { wrote } from "./own_writes.js";

/** @import { ObjectName, Resource } from "./object.js" */

/** The attempts of `retryOnConflict`, which cannot wait between them. */
const ATTEMPTS = 5;

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
export function get(gvr, name, { subresource = "" } = {}) {
  return parse(call(() => host.get(text(gvr, "gvr"), keyOf(name), text(subresource, "subresource"))));
}

/**
 * Lists objects from the API server, page by page.
 *
 * @param {string} gvr
 * @param {ListOptions} [options]
 * @returns {Generator<Resource, void, void>}
 */
export function* list(gvr, { namespace, labels = "", fields = "", pageSize = 0 } = {}) {
  const options = {
    namespace: namespace === undefined ? null : text(namespace, "namespace"),
    labels: text(labels, "labels"),
    fields: text(fields, "fields"),
    limit: count(pageSize, "pageSize"),
  };
  /** @type {string | null} */
  let token = null;
  do {
    const page = call(() => host.listObjects(text(gvr, "gvr"), { ...options, token }));
    for (const item of page.items) yield JSON.parse(item);
    token = page.next ?? null;
  } while (token !== null);
}

/**
 * Creates an object, in the namespace of its metadata. Returns it as the server answered.
 *
 * @param {string} gvr
 * @param {Resource} object
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function create(gvr, object, options) {
  const namespace = text(object.metadata.namespace ?? "", "the namespace");
  return written(options, undefined, (wire) => host.create(text(gvr, "gvr"), namespace, stringify(object), wire));
}

/**
 * Replaces an object. Fails with the code `conflict` if its `resourceVersion` is not the current one.
 *
 * @param {string} gvr
 * @param {Resource} object
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function update(gvr, object, options) {
  return replaced(gvr, object, object, options);
}

/**
 * Changes parts of an object by a JSON merge patch (RFC 7386): `null` removes a field, and an array replaces the whole array.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object} body
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function mergePatch(gvr, name, body, options) {
  return patch(gvr, name, "merge", body, options);
}

/**
 * Changes parts of an object by the operations of a JSON patch (RFC 6902).
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object[]} operations
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function jsonPatch(gvr, name, operations, options) {
  return patch(gvr, name, "json-patch", operations, options);
}

/**
 * Changes parts of an object of a built-in kind by a strategic merge patch: arrays merge by the keys of their type.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {object} body
 * @param {WriteOptions} [options]
 * @returns {Resource}
 */
export function strategicMergePatch(gvr, name, body, options) {
  return patch(gvr, name, "strategic-merge", body, options);
}

/**
 * Applies the fields that the plugin wants to own (server-side apply). It creates an object that does not exist. It needs `apply` in
 * the grant. Fails with the code `conflict` if another manager owns a field, unless `force` is true.
 *
 * @param {string} gvr
 * @param {Resource} object with `apiVersion`, `kind` and the name
 * @param {WriteOptions & { force?: boolean }} [options]
 * @returns {Resource}
 */
export function apply(gvr, object, options) {
  return patch(gvr, object, "apply", object, options);
}

/**
 * Deletes an object. It stays until its finalizers are removed.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {DeleteOptions} [options]
 */
export function deleteObject(gvr, name, { dryRun = false, uid, resourceVersion, propagation } = {}) {
  const options = {
    dryRun: Boolean(dryRun),
    uid: uid === undefined ? null : text(uid, "uid"),
    resourceVersion: resourceVersion === undefined ? null : text(resourceVersion, "resourceVersion"),
    propagation: propagation === undefined ? null : oneOf(propagation, ["background", "foreground", "orphan"]),
  };
  call(() => host.deleteObject(text(gvr, "gvr"), keyOf(name), options));
}

/**
 * Records an Event about an object. The same Event within ten minutes raises the count of the first one. It needs `create
 * events.k8s.io/v1/events` in the grant.
 *
 * @param {string} gvr the resource of the object
 * @param {ObjectName} about
 * @param {ObjectEvent} event
 */
export function recordEvent(gvr, about, { reason, action, note = "", warning = false }) {
  const event = {
    gvr: text(gvr, "gvr"),
    regarding: keyOf(about),
    warning: Boolean(warning),
    reason: text(reason, "reason"),
    action: text(action, "action"),
    note: text(note, "note"),
  };
  call(() => host.recordEvent(event));
}

/**
 * Calls a function again if it throws an `ApiError` with the code `conflict`, at most five times in all. In each call, the function must
 * read the object anew from `client`, because the cache may still have the old version.
 *
 * @template T
 * @param {() => T} attempt
 * @returns {T}
 */
export function retryOnConflict(attempt) {
  for (let left = ATTEMPTS - 1; ; left -= 1) {
    try {
      return settled(attempt(), "the function of retryOnConflict");
    } catch (error) {
      if (left === 0 || !(error instanceof ApiError) || error.code !== "conflict") throw error;
    }
  }
}

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
export function modify(gvr, name, change, options) {
  return retryOnConflict(() => {
    const object = get(gvr, name);
    const before = JSON.stringify(object);
    const changed = settled(change(object), "the function of modify") ?? object;
    if (typeof changed.metadata?.name !== "string") {
      // An arrow function without braces returns the value of its assignment.
      throw new TypeError(`the function of modify has returned ${shown(changed)}: return nothing, or an object with metadata.name`);
    }
    return isText(changed, before) ? changed : replaced(gvr, changed, object, options);
  });
}

/**
 * @param {string} gvr
 * @param {Resource} object
 * @param {Resource} read the object that was changed, or from which the new one was made
 * @param {WriteOptions} [options]
 */
function replaced(gvr, object, read, options) {
  return written(options, object, (wire) => host.update(text(gvr, "gvr"), keyOf(object), stringify(object, read), wire));
}

/**
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {"merge" | "json-patch" | "strategic-merge" | "apply"} kind
 * @param {object} body
 * @param {(WriteOptions & { force?: boolean }) | undefined} options
 */
function patch(gvr, name, kind, body, options) {
  return written(options, body, (wire) => host.patch(text(gvr, "gvr"), keyOf(name), kind, stringify(body), wire));
}

/**
 * @param {(WriteOptions & { force?: boolean }) | undefined} options
 * @param {any} sent the object or the patch, which may have the version before the write
 * @param {(wire: { dryRun: boolean, force: boolean, subresource: string }) => string} write
 * @returns {Resource}
 */
function written(options, sent, write) {
  const { dryRun = false, force = false, subresource = "" } = options ?? {};
  const wire = { dryRun: Boolean(dryRun), force: Boolean(force), subresource: text(subresource, "subresource") };
  const object = parse(call(() => write(wire)));
  if (!wire.dryRun) wrote(object?.metadata?.resourceVersion, versionOf(sent));
  return object;
}

/**
 * The version in the metadata of an object or a patch, or the one that an operation of a JSON patch compares or sets.
 *
 * @param {any} sent
 * @returns {string | undefined}
 */
function versionOf(sent) {
  if (!Array.isArray(sent)) return sent?.metadata?.resourceVersion;
  return sent.filter((operation) => operation?.path === "/metadata/resourceVersion").pop()?.value;
}

/**
 * @template {string} T
 * @param {T} value
 * @param {T[]} allowed
 * @returns {T}
 */
function oneOf(value, allowed) {
  if (!allowed.includes(value)) throw new TypeError(`${String(value)} is none of ${allowed.join(", ")}`);
  return value;
}
