/**
 * Timers that fire once, by name: the host calls `onTimer`, so a plugin that uses them has it.
 *
 * A timer survives reloads of the plugin. It does not survive the host: set it again in `onAdd` or `onSynced`.
 *
 * @module
 */

import * as host from "informer:plugin/timer@0.2.0";

import { call, milliseconds, text } from "./errors.js";

/**
 * Sets a timer. If there is a timer of this name, the new time replaces the old one. The longest time is about 24.8 days.
 *
 * The host refuses a name that is empty, longer than 512 bytes or the name of a `[[plugin.timer]]`, and more than 1,000 timers.
 *
 * @param {string} name
 * @param {number} millis
 */
export function after(name, millis) {
  call(() => host.after(text(name, "name"), milliseconds(millis, "millis")));
}

/**
 * Removes a timer. Nothing happens if there is none.
 *
 * @param {string} name
 */
export function cancel(name) {
  call(() => host.cancel(text(name, "name")));
}
