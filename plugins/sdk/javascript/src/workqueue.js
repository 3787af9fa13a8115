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
 * Adds a key.
 *
 * @param {ObjectName} key
 */
export function add(key) {
  call(() => host.add(wire(key)));
}

/**
 * Adds a key after a time. The longest time is about 24.8 days.
 *
 * @param {ObjectName} key
 * @param {number} millis
 */
export function addAfter(key, millis) {
  call(() => host.addAfter(wire(key), milliseconds(millis, "millis")));
}

/**
 * Adds a key after the backoff of its failures, and counts one more failure.
 *
 * @param {ObjectName} key
 */
export function addRateLimited(key) {
  call(() => host.addRateLimited(wire(key)));
}

/**
 * Forgets the failures of a key.
 *
 * @param {ObjectName} key
 */
export function forget(key) {
  call(() => host.forget(wire(key)));
}

/**
 * The failures of a key since it was forgotten.
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
  return typeof key === "string" ? text(key, "key") : formatKey(key);
}
