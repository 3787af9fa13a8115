/**
 * The queue of keys of the plugin, for plugins with `reconcile`. A key is text; `namespace/name` by convention. It works as the
 * workqueue of client-go: a key is in the queue once, and two workers never have the same key.
 *
 * @module
 */

import * as host from "informer:plugin/workqueue@0.2.0";

import { call, milliseconds, text } from "./errors.js";
import { formatKey } from "./object.js";

/** @import { ObjectName } from "./object.js" */

/**
 * Adds a key. A key that is in the queue is not added twice; one that is being reconciled is reconciled once more afterwards.
 *
 * @param {ObjectName} key
 */
export function add(key) {
  call(() => host.add(wire(key)));
}

/**
 * Adds a key after a time. If a key is added several times, the earliest time wins. The longest time is about 24.8 days.
 *
 * @param {ObjectName} key
 * @param {number} millis
 */
export function addAfter(key, millis) {
  call(() => host.addAfter(wire(key), milliseconds(millis, "millis")));
}

/**
 * Adds a key after its backoff, which doubles with each call until `forget`.
 *
 * @param {ObjectName} key
 */
export function addRateLimited(key) {
  call(() => host.addRateLimited(wire(key)));
}

/**
 * Resets the backoff of a key. The host does so itself when `reconcile` returns nothing or `requeueAfter`, and when the key becomes a dead
 * letter.
 *
 * @param {ObjectName} key
 */
export function forget(key) {
  call(() => host.forget(wire(key)));
}

/**
 * The number of times that a key was added with a backoff since its backoff was reset: by `addRateLimited`, and by the host after
 * `{ requeue: true }` and after each failed call.
 *
 * @param {ObjectName} key
 */
export function numRequeues(key) {
  return call(() => host.numRequeues(wire(key)));
}

/** The number of keys that are ready. */
export function length() {
  return call(() => host.length());
}

/** @param {ObjectName} key */
function wire(key) {
  if (typeof key === "string") return text(key, "key");
  const { of, metadata } = /** @type {any} */ (key ?? {});
  // `parseKey` returns the resource of a key as `of`. A key without its resource is another key.
  return typeof of === "string" && metadata === undefined ? `${text(of, "of")} ${formatKey(key)}` : formatKey(key);
}
