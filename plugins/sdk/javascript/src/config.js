/**
 * Settings: `[plugin.config]` and the files of `config-files`, as text. `a.b` is the value at `b` in the table `a`; a file has its name.
 * `start` of the plugin receives `[plugin.config]` parsed, so that this module is of use for mounted files.
 *
 * @module
 */

import * as host from "wasi:config/store@0.2.0-rc.1";

import { call, text } from "./errors.js";

/**
 * A setting; `undefined` if there is none. A value that is no text is JSON.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function get(name) {
  return call(() => host.get(text(name, "name"))) ?? undefined;
}

/**
 * All settings.
 *
 * @returns {Record<string, string>}
 */
export function all() {
  return Object.fromEntries(call(() => host.getAll()));
}
