/**
 * Write plugins of informer in JavaScript and TypeScript.
 *
 * @module
 */

import "./console.js";

/** @typedef {import("./batch.js").Notification} Notification */
/** @typedef {import("./batch.js").Outcome} Outcome */
/** @typedef {import("./client.js").DeleteOptions} DeleteOptions */
/** @typedef {import("./client.js").ListOptions} ListOptions */
/** @typedef {import("./client.js").ObjectEvent} ObjectEvent */
/** @typedef {import("./client.js").WriteOptions} WriteOptions */
/** @typedef {import("./http.js").Answer} Answer */
/** @typedef {import("./http.js").Request} Request */
/** @typedef {import("./keyvalue.js").Bucket} Bucket */
/** @typedef {import("./lister.js").CacheState} CacheState */
/** @typedef {import("./lister.js").Selector} Selector */
/** @typedef {import("./object.js").Cause} Cause */
/** @typedef {import("./object.js").ObjectKey} ObjectKey */
/** @typedef {import("./object.js").ObjectName} ObjectName */
/** @typedef {import("./object.js").Owner} Owner */
/** @typedef {import("./object.js").Resource} Resource */
/** @typedef {import("./object.js").WorkKey} WorkKey */
/** @typedef {import("./plugin.js").Definition} Definition */
/** @typedef {import("./plugin.js").Reconciled} Reconciled */
/** @typedef {import("./plugin.js").Synced} Synced */

export * as client from "./client.js";
export * as config from "./config.js";
export { callAgain, delivery } from "./delivery.js";
export { ApiError, HostError, PermanentError, RetryAfterError } from "./errors.js";
export * as http from "./http.js";
export * as keyvalue from "./keyvalue.js";
export * as lister from "./lister.js";
export * as log from "./log.js";
export { finalize, ownerReference, setOwner } from "./metadata.js";
export * as metrics from "./metrics.js";
export { formatKey, keyOf, KubeObject, ObjectMeta, parseKey } from "./object.js";
export { isOwnWrite } from "./own_writes.js";
export { definePlugin } from "./plugin.js";
export * as timer from "./timer.js";
export * as workqueue from "./workqueue.js";
