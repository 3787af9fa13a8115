/**
 * Reads the metadata of an object that has only a token: the state before an update.
 *
 * @param {number} id
 */
export function before(id: number): KubeObject;
/**
 * The key of an object.
 *
 * @param {ObjectName} name
 * @returns {ObjectKey}
 */
export function keyOf(name: ObjectName): ObjectKey;
/**
 * Parses the key of a workqueue: `namespace/name`, or `name`. If the subscription has `resource-in-key = true`, the resource of the object
 * or the kind of its controller, and a blank, come before it.
 *
 * @param {string} key
 * @returns {WorkKey}
 */
export function parseKey(key: string): WorkKey;
/**
 * `namespace/name`, or `name` for a cluster-scoped object.
 *
 * @param {ObjectName} name
 */
export function formatKey(name: ObjectName): string;
/**
 * The value of a JSON text; `undefined` for none, which is `null` in QuickJS and `undefined` in StarlingMonkey.
 *
 * @internal
 * @param {string | null | undefined} json
 */
export function value(json: string | null | undefined): any;
/**
 * @internal
 * @param {unknown} pointers
 */
export function texts(pointers: unknown): string[];
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
    constructor(meta: WireMeta);
    /**
     * Empty for a cluster-scoped object.
     * @type {string}
     */
    namespace: string;
    /** @type {string} */
    name: string;
    /** @type {string} */
    uid: string;
    /**
     * Opaque: compare it for equality only.
     * @type {string}
     */
    resourceVersion: string;
    /**
     * RFC 3339, for example `2026-11-21T02:19:18Z`; empty if the server sent none.
     * @type {string}
     */
    creationTimestamp: string;
    /**
     * True if the object waits for its finalizers.
     * @type {boolean}
     */
    deleting: boolean;
    /** @type {Record<string, string>} */
    labels: Record<string, string>;
    /** @type {Owner | undefined} */
    controller: Owner | undefined;
    /** `namespace/name`, or `name` for a cluster-scoped object: the key of a workqueue. */
    get key(): string;
}
/**
 * The object of a notification. Its metadata is there at once. Fields are read from the host when they are asked for, and the whole
 * object is parsed when `body` is read for the first time. After the call has returned only what was read stays available.
 */
export class KubeObject extends ObjectMeta {
    /**
     * @internal
     * @param {string | undefined} gvr
     * @param {WireMeta} meta
     * @param {number} id
     */
    constructor(gvr: string | undefined, meta: WireMeta, id: number);
    /**
     * The resource, for example `apps/v1/deployments`. The state before an update has none.
     * @type {string | undefined}
     */
    gvr: string | undefined;
    /**
     * The whole object, parsed at the first use.
     * @returns {Resource}
     */
    get body(): Resource;
    /** The whole object as JSON text. */
    text(): string;
    /**
     * The value at a JSON pointer, for example `/spec/replicas`; `undefined` if there is none.
     *
     * @param {string} pointer
     * @returns {any}
     */
    get(pointer: string): any;
    /**
     * The values at several pointers in one call of the host, in the same order.
     *
     * @param {...string} pointers
     * @returns {any[]}
     */
    getMany(...pointers: string[]): any[];
    /**
     * Returns true if the value at any of the pointers differs. The host compares, and nothing is parsed.
     *
     * @param {KubeObject} other another object of the same call, like the state before an update
     * @param {...string} pointers
     */
    differs(other: KubeObject, ...pointers: string[]): boolean;
    #private;
}
/**
 * The namespace and name of an object. The namespace of a cluster-scoped object is empty.
 */
export type ObjectKey = {
    namespace: string;
    name: string;
};
/**
 * The key of an object in a workqueue. If the subscription has `resource-in-key = true`, `of` is the resource of the object, such as
 * `v1/pods`, or the kind of its controller, such as `apps/v1/ReplicaSet`.
 */
export type WorkKey = {
    of?: string;
    namespace: string;
    name: string;
};
/**
 * What names an object: its key, the text `namespace/name`, an object of a notification, or a parsed object.
 */
export type ObjectName = string | {
    namespace?: string;
    name: string;
} | {
    metadata?: {
        namespace?: string;
        name?: string;
    };
};
/**
 * The entry of `metadata.ownerReferences` that is the controller.
 */
export type Owner = {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
};
/**
 * Why an object is delivered: `live` for a change, `initial` for an object that existed before, `relist`, `resync` or `replay`.
 */
export type Cause = "live" | "initial" | "relist" | "resync" | "replay";
/**
 * A parsed object: `apiVersion`, `kind`, `metadata` and what its kind adds.
 */
export type Resource = {
    apiVersion?: string;
    kind?: string;
    metadata: Record<string, any>;
    [field: string]: any;
};
/**
 * The record of the interface.
 */
export type WireMeta = {
    namespace: string;
    name: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    deleting: boolean;
    labels: Array<[string, string]>;
    controller: Owner | null;
};
