/** @import { ObjectName } from "./object.js" */
/**
 * Adds a key. A key that is in the queue is not added twice; one that is being reconciled is reconciled once more afterwards.
 *
 * @param {ObjectName} key
 */
export function add(key: ObjectName): void;
/**
 * Adds a key after a time. If a key is added several times, the earliest time wins. The longest time is about 24.8 days.
 *
 * @param {ObjectName} key
 * @param {number} millis
 */
export function addAfter(key: ObjectName, millis: number): void;
/**
 * Adds a key after its backoff, which doubles with each call until `forget`.
 *
 * @param {ObjectName} key
 */
export function addRateLimited(key: ObjectName): void;
/**
 * Resets the backoff of a key. The host does so itself when `reconcile` returns nothing or `requeueAfter`, and when the key becomes a dead
 * letter.
 *
 * @param {ObjectName} key
 */
export function forget(key: ObjectName): void;
/**
 * The number of times that a key was added with a backoff since its backoff was reset: by `addRateLimited`, and by the host after
 * `{ requeue: true }` and after each failed call.
 *
 * @param {ObjectName} key
 */
export function numRequeues(key: ObjectName): number;
/** The number of keys that are ready. */
export function length(): number;
import type { ObjectName } from "./object.js";
