/**
 * Log lines of the plugin in the log of the host, with fields. `console` writes there too.
 *
 * @module
 */

import * as host from "informer:plugin/log@0.2.0";

import { wellFormed } from "./errors.js";
import { describe } from "./failure.js";

/** @typedef {"trace" | "debug" | "info" | "warn" | "error"} Level */

/**
 * Values of fields. Text stays as it is, an `Error` becomes its description, and anything else JSON.
 * @typedef {Record<string, unknown>} Fields
 */

/**
 * Lines that were written while the module was evaluated, which happens when the component is built. They go out at the first call.
 * @type {Array<[Level, string, Array<[string, string]>]> | undefined}
 */
let early = [];

/**
 * Returns true if the host keeps lines of this level. Use it before you compute something for a line.
 *
 * @param {Level} level
 */
export function enabled(level) {
  return early === undefined && host.enabled(level);
}

/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function trace(message, fields) {
  write("trace", message, fields);
}

/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function debug(message, fields) {
  write("debug", message, fields);
}

/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function info(message, fields) {
  write("info", message, fields);
}

/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function warn(message, fields) {
  write("warn", message, fields);
}

/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function error(message, fields) {
  write("error", message, fields);
}

/**
 * @param {Level} level
 * @param {string} message
 * @param {Fields} [fields]
 */
function write(level, message, fields = {}) {
  const pairs = Object.entries(fields).map(([name, value]) => /** @type {[string, string]} */ ([wellFormed(name), wellFormed(shown(value))]));
  if (early === undefined) host.write(level, wellFormed(shown(message)), pairs);
  else early.push([level, wellFormed(shown(message)), pairs]);
}

/**
 * Begins to write to the host, which exists from the first call on.
 *
 * @internal
 */
export function begin() {
  const lines = early;
  early = undefined;
  for (const line of lines ?? []) host.write(...line);
}

/**
 * A value as text for a person.
 *
 * @param {unknown} value
 * @returns {string}
 */
function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return describe(value);
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // It refers to itself, or has a BigInt.
    return String(value);
  }
}

/**
 * The arguments of `console`: an object at the end gives the fields, and the other arguments are the message.
 *
 * @param {Level} level
 * @returns {(...values: unknown[]) => void}
 */
function printer(level) {
  return (...values) => {
    const last = values.at(-1);
    const fields = values.length > 1 && isPlain(last) ? /** @type {Fields} */ (values.pop()) : {};
    write(level, values.map(shown).join(" "), fields);
  };
}

/** @param {unknown} value */
function isPlain(value) {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * A `console` that writes to the log of the host.
 *
 * @internal
 */
export const console = {
  trace: printer("trace"),
  debug: printer("debug"),
  log: printer("info"),
  info: printer("info"),
  warn: printer("warn"),
  error: printer("error"),
  /**
   * @param {unknown} condition
   * @param {...unknown} values
   */
  assert(condition, ...values) {
    if (!condition) printer("error")("assertion failed", ...values);
  },
};
