// Facts about the current call.

import { current } from "informer:plugin/delivery@0.1.0";

import { call } from "./errors.js";

/**
 * The attempt of the current call from 1 on, the milliseconds that it has waited, the name of the plugin, and the version of the host.
 *
 * @returns {{ attempt: number, queuedMs: number, plugin: string, hostVersion: string }}
 */
export function delivery() {
  return call(() => current());
}
