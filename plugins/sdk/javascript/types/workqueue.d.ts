/** @import { ObjectName } from "./object.js" */
/**
 * Adds a key.
 *
 * @param {ObjectName} key
 */
export function add(key: ObjectName): void;
/**
 * Adds a key after a time. The longest time is about 24.8 days.
 *
 * @param {ObjectName} key
 * @param {number} millis
 */
export function addAfter(key: ObjectName, millis: number): void;
/**
 * Adds a key after the backoff of its failures, and counts one more failure.
 *
 * @param {ObjectName} key
 */
export function addRateLimited(key: ObjectName): void;
/**
 * Forgets the failures of a key.
 *
 * @param {ObjectName} key
 */
export function forget(key: ObjectName): void;
/**
 * The failures of a key since it was forgotten.
 *
 * @param {ObjectName} key
 */
export function numRequeues(key: ObjectName): number;
/** The number of keys that are ready. */
export function length(): number;
import type { ObjectName } from "./object.js";
