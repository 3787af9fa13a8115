// Turns an error that a handler or reconciler throws into the failure that the host receives.

import { ApiError, PermanentError, RetryAfterError, milliseconds, wellFormed } from "./errors.js";

/** The most causes of an error that are described. */
const CAUSES = 8;

/**
 * The text of a thrown value: its name, message and stack, and those of its causes.
 *
 * @param {unknown} thrown
 * @returns {string}
 */
export function describe(thrown) {
  const parts = [];
  let error = thrown;
  for (let depth = 0; depth < CAUSES && (depth === 0 || error !== undefined); depth += 1) {
    parts.push((depth === 0 ? "" : "caused by ") + one(error));
    error = error instanceof Error ? error.cause : undefined;
  }
  return wellFormed(parts.join("\n"));
}

/**
 * @param {unknown} thrown
 * @returns {string}
 */
function one(thrown) {
  try {
    return text(thrown);
  } catch {
    // An object that refers to itself, for example. An exception here would be a trap instead of a failure.
    return Object.prototype.toString.call(thrown);
  }
}

/**
 * @param {unknown} thrown
 * @returns {string}
 */
function text(thrown) {
  if (!(thrown instanceof Error)) {
    return typeof thrown === "object" ? JSON.stringify(thrown) ?? String(thrown) : String(thrown);
  }
  const title = `${thrown.name}: ${thrown.message}`;
  const stack = String(thrown.stack ?? "").trimEnd();
  // Some engines repeat the title in the stack.
  return stack === "" || stack.includes(thrown.message) && stack.startsWith(thrown.name) ? stack || title : `${title}\n${stack}`;
}

/**
 * The `failure` of the interface for what a handler has thrown.
 *
 * @param {unknown} thrown
 * @returns {{ tag: "retry" | "permanent", val: string } | { tag: "retry-after", val: [string, number] }}
 */
export function failure(thrown) {
  const why = describe(thrown);
  if (thrown instanceof PermanentError) return { tag: "permanent", val: why };
  const millis = retryAfter(thrown);
  return millis === undefined ? { tag: "retry", val: why } : { tag: "retry-after", val: [why, millis] };
}

/**
 * The time until the next attempt that an error asks for, in milliseconds.
 *
 * @param {unknown} thrown
 * @returns {number | undefined}
 */
export function retryAfter(thrown) {
  const millis = thrown instanceof RetryAfterError ? thrown.millis : thrown instanceof ApiError ? thrown.retryAfterMs : undefined;
  return typeof millis === "number" && millis >= 0 ? milliseconds(millis, "millis") : undefined;
}
