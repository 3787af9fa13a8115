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
 * Requests another call for the object of this call, `millis` milliseconds after the handler returns without an exception. The host then
 * delivers the object as a resync does: it calls `onUpdate` with the cause `resync`, and both the old and the new state are the state that
 * the cache has then. Any other call for the object cancels the request, and may make a new one. A request survives the end of the instance
 * and reloads of the plugin, but not a restart of the host: make it again in `onAdd`. The longest time is about 24.8 days.
 *
 * The host refuses it outside calls of `onAdd`, `onUpdate` and `onDelete`. A reconciler returns `{ requeueAfter }` instead.
 *
 * @param {number} millis
 */
export function callAgain(millis) {
  call(() => host.callAgain(milliseconds(millis, "millis")));
}
