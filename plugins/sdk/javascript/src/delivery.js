// Facts about the current call.

import * as host from "informer:plugin/delivery@0.2.0";

import { call, milliseconds } from "./errors.js";

/**
 * The attempt of the current call from 1 on, the milliseconds that it has waited, the name of the plugin, and the version of the host.
 *
 * @returns {{ attempt: number, queuedMs: number, plugin: string, hostVersion: string }}
 */
export function delivery() {
  return call(() => host.current());
}

/**
 * Asks for another call for the object of this call, this time after the handler returns without an exception. `onUpdate` gets the object
 * as the cache has it then, twice, with the cause `resync`. Any other call for the object ends the wait, and may ask anew. The wait
 * survives instances and reloads, not the host: `onAdd` may ask again. The longest time is about 24.8 days.
 *
 * The host refuses it outside calls of `onAdd`, `onUpdate` and `onDelete`. A reconciler returns `{ requeueAfter }` instead.
 *
 * @param {number} millis
 */
export function callAgain(millis) {
  call(() => host.callAgain(milliseconds(millis, "millis")));
}
