// Objects of Kubernetes: their names, their metadata, and the object of a notification.

import * as objects from "informer:plugin/objects@0.2.0";

import { call, text } from "./errors.js";

/**
 * The namespace and name of an object. The namespace of a cluster-scoped object is empty.
 * @typedef {{ namespace: string, name: string }} ObjectKey
 */

/**
 * The key of an object in a workqueue. If the subscription has `resource-in-key = true`, `of` is the resource of the object, such as
 * `v1/pods`, or the kind of its controller, such as `apps/v1/ReplicaSet`.
 * @typedef {{ of?: string, namespace: string, name: string }} WorkKey
 */

/**
 * What names an object: its key, the text `namespace/name`, an object of a notification, or a parsed object.
 * @typedef {string | { namespace?: string, name: string } | { metadata?: { namespace?: string, name?: string } }} ObjectName
 */

/**
 * The entry of `metadata.ownerReferences` that is the controller.
 * @typedef {{ apiVersion: string, kind: string, name: string, uid: string }} Owner
 */

/**
 * Why an object is delivered: `live` for a change, `initial` for an object that existed before, `relist`, `resync` or `replay`.
 * @typedef {"live" | "initial" | "relist" | "resync" | "replay"} Cause
 */

/**
 * A parsed object: `apiVersion`, `kind`, `metadata` and what its kind adds.
 * @typedef {{ apiVersion?: string, kind?: string, metadata: Record<string, any>, [field: string]: any }} Resource
 */

/**
 * The record of the interface.
 * @typedef {{ namespace: string, name: string, uid: string, resourceVersion: string, creationTimestamp: string, deleting: boolean,
 *   labels: Array<[string, string]>, controller: Owner | null }} WireMeta
 */

/** The metadata that plugins use most. Annotations are not included: read them with `object.get("/metadata/annotations")`. */
export class ObjectMeta {
  /**
   * @internal
   * @param {WireMeta} meta
   */
  constructor(meta) {
    /**
     * Empty for a cluster-scoped object.
     * @type {string}
     */
    this.namespace = meta.namespace;
    /** @type {string} */
    this.name = meta.name;
    /** @type {string} */
    this.uid = meta.uid;
    /**
     * Opaque: compare it for equality only.
     * @type {string}
     */
    this.resourceVersion = meta.resourceVersion;
    /**
     * RFC 3339, for example `2026-11-21T02:19:18Z`; empty if the server sent none.
     * @type {string}
     */
    this.creationTimestamp = meta.creationTimestamp;
    /**
     * True if the object waits for its finalizers.
     * @type {boolean}
     */
    this.deleting = meta.deleting;
    /** @type {Record<string, string>} */
    this.labels = Object.fromEntries(meta.labels);
    /** @type {Owner | undefined} */
    this.controller = meta.controller ?? undefined;
  }

  /** `namespace/name`, or `name` for a cluster-scoped object: the key of a workqueue. */
  get key() {
    return formatKey(this);
  }
}

/**
 * The object of a notification. Its metadata is there at once. Fields are read from the host when they are asked for, and the whole
 * object is parsed when `body` is read for the first time. After the call has returned only what was read stays available.
 */
export class KubeObject extends ObjectMeta {
  /** @type {number} */
  #id;
  /** @type {Resource | undefined} */
  #body;

  /**
   * @internal
   * @param {string | undefined} gvr
   * @param {WireMeta} meta
   * @param {number} id
   */
  constructor(gvr, meta, id) {
    super(meta);
    this.#id = id;
    /**
     * The resource, for example `apps/v1/deployments`. The state before an update has none.
     * @type {string | undefined}
     */
    this.gvr = gvr;
  }

  /**
   * The whole object, parsed at the first use.
   * @returns {Resource}
   */
  get body() {
    this.#body ??= /** @type {Resource} */ (JSON.parse(this.text()));
    return this.#body;
  }

  /** The whole object as JSON text. */
  text() {
    return call(() => objects.json(this.#id));
  }

  /**
   * The value at a JSON pointer, for example `/spec/replicas`; `undefined` if there is none.
   *
   * @param {string} pointer
   * @returns {any}
   */
  get(pointer) {
    return value(call(() => objects.get(this.#id, text(pointer, "pointer"))));
  }

  /**
   * The values at several pointers in one call of the host, in the same order.
   *
   * @param {...string} pointers
   * @returns {any[]}
   */
  getMany(...pointers) {
    return call(() => objects.getMany(this.#id, texts(pointers))).map(value);
  }

  /**
   * Returns true if the value at any of the pointers differs. The host compares, and nothing is parsed.
   *
   * @param {KubeObject} other another object of the same call, like the state before an update
   * @param {...string} pointers
   */
  differs(other, ...pointers) {
    return call(() => objects.differs(this.#id, other.#id, texts(pointers)));
  }
}

/**
 * Reads the metadata of an object that has only a token: the state before an update.
 *
 * @param {number} id
 */
export function before(id) {
  return new KubeObject(undefined, call(() => objects.meta(id)), id);
}

/**
 * The key of an object.
 *
 * @param {ObjectName} name
 * @returns {ObjectKey}
 */
export function keyOf(name) {
  if (typeof name === "string") return parseKey(name);
  const named = /** @type {any} */ (name);
  // A parsed object may have a field `name` of its own beside its metadata.
  const { namespace = "", name: own } = typeof named?.metadata?.name === "string" ? named.metadata : named ?? {};
  return { namespace: text(namespace, "the namespace"), name: text(own, "the name of the object") };
}

/**
 * Parses the key of a workqueue: `namespace/name`, or `name`. If the subscription has `resource-in-key = true`, the resource of the object
 * or the kind of its controller, and a blank, come before it.
 *
 * @param {string} key
 * @returns {WorkKey}
 */
export function parseKey(key) {
  const blank = text(key, "key").lastIndexOf(" ");
  const parts = key.slice(blank + 1).split("/");
  if (parts.length > 2 || parts.includes("")) throw new TypeError(`the key is not \`namespace/name\` or \`name\`: ${key}`);
  const [name, namespace = ""] = parts.reverse();
  const object = { namespace, name: /** @type {string} */ (name) };
  return blank < 0 ? object : { of: key.slice(0, blank), ...object };
}

/**
 * `namespace/name`, or `name` for a cluster-scoped object.
 *
 * @param {ObjectName} name
 */
export function formatKey(name) {
  const key = keyOf(name);
  return key.namespace === "" ? key.name : `${key.namespace}/${key.name}`;
}

/**
 * The value of a JSON text; `undefined` for none, which is `null` in QuickJS and `undefined` in StarlingMonkey.
 *
 * @internal
 * @param {string | null | undefined} json
 */
export function value(json) {
  return json === null || json === undefined ? undefined : JSON.parse(json);
}

/**
 * @internal
 * @param {unknown} pointers
 */
export function texts(pointers) {
  if (!Array.isArray(pointers)) throw new TypeError("the pointers are no array");
  return pointers.map((pointer) => text(pointer, "pointer"));
}
