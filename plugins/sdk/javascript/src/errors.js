// The errors of calls to the host, and those that a plugin throws to say what happens next.

/** The largest number of 32 bits that the engines pass to the host. QuickJS may end the call with a trap for a larger one. */
const LARGEST = 0x7fffffff;

/**
 * A call to the host failed.
 *
 * If a handler does not catch it, the notification is delivered again after the backoff of the plugin.
 */
export class HostError extends Error {
  /**
   * @param {string} code the kind of the failure
   * @param {string} text a sentence for people
   * @param {ErrorOptions} [options]
   */
  constructor(code, text, options) {
    super(`${code}: ${text}`, options);
    this.name = "HostError";
    /**
     * The kind of the failure: `unknown-resource`, `not-granted`, `stale-token`, `stale-page`, `invalid`, `too-large`,
     * `limit-exceeded` or `internal`; of key-values `no-such-store`, `access-denied` or `other`; of the configuration `upstream` or
     * `io`; of HTTP requests `http-request-denied`, and what `http.fetch` says.
     * @type {string}
     */
    this.code = code;
  }
}

/**
 * A request to the API server was refused or failed.
 *
 * `code` is one of `not-granted`, `bad-argument`, `limit-exceeded`, `too-large`, `invalid`, `unauthorized`, `forbidden`, `not-found`,
 * `already-exists`, `conflict`, `gone`, `too-many-requests`, `timeout`, `unavailable` and `internal`.
 */
export class ApiError extends HostError {
  /**
   * @param {string} code the kind of the failure
   * @param {string} text a sentence for people
   * @param {number} [status] the HTTP status
   * @param {number} [retryAfterMs] when another request is accepted
   * @param {ErrorOptions} [options]
   */
  constructor(code, text, status = 0, retryAfterMs = undefined, options = undefined) {
    super(code, text, options);
    this.name = "ApiError";
    /**
     * The HTTP status, or 0 if there was no answer.
     * @type {number}
     */
    this.status = status;
    /**
     * The time in milliseconds after which the server, or the limit of the plugin, accepts another request. A handler that does not
     * catch the error is called again after this time.
     * @type {number | undefined}
     */
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Another attempt cannot help. The notification, the key or the signal of the call becomes a dead letter at once. The key is reconciled
 * again when it is added again, for example because its object changes.
 */
export class PermanentError extends Error {
  /**
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(message, options) {
    super(message, options);
    this.name = "PermanentError";
  }
}

/**
 * Another attempt may help after a time. The host has no such failure for reconcilers: if `reconcile` throws this error, the SDK logs a
 * warning, and the key is reconciled again after the time. This does not count as a failed attempt.
 */
export class RetryAfterError extends Error {
  /**
   * @param {string} message
   * @param {number} millis the time until the next attempt, in milliseconds, at most about 24.8 days, and one day for a notification
   * @param {ErrorOptions} [options]
   */
  constructor(message, millis, options) {
    super(message, options);
    this.name = "RetryAfterError";
    /**
     * The time until the next attempt, in milliseconds.
     * @type {number}
     */
    this.millis = milliseconds(millis, "millis");
  }
}

/**
 * Calls a function of the host. What it throws becomes a `HostError` or `ApiError`, with the stack of the caller.
 *
 * @internal
 * @template T
 * @param {() => T} request
 * @returns {T}
 */
export function call(request) {
  try {
    return request();
  } catch (error) {
    throw typed(error);
  }
}

/**
 * The error of a host call as a class. The engine throws an object that has the value of the interface in `payload`: a record, a
 * variant, or the text of a case. Its class is `Error` in QuickJS, and one of the bindings in StarlingMonkey.
 *
 * @param {any} error
 * @returns {unknown}
 */
function typed(error) {
  const payload = error?.payload;
  if (payload === undefined || payload === null) return error;
  if (typeof payload === "string") return new HostError("other", payload);
  if (typeof payload.tag === "string") return new HostError(payload.tag, shown(payload.val ?? "the host refused the call"));
  if (typeof payload.code !== "string") return error;
  const { code, message, status, retryAfterMs } = payload;
  return status === undefined ? new HostError(code, message) : new ApiError(code, message, status, retryAfterMs ?? undefined);
}

/**
 * Text that the host can receive. A replacement character stands for half a character, such as the rest of an emoji that was cut: QuickJS
 * would end the call with a trap for it.
 *
 * @internal
 * @param {string} value
 */
export function wellFormed(value) {
  return value.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/**
 * Checks an argument that the host receives as text. The engine would end the call with a trap.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {string}
 */
export function text(value, name) {
  if (typeof value !== "string") throw new TypeError(`${name} is no string: ${shown(value)}`);
  return wellFormed(value);
}

/**
 * Checks a whole number that is not negative and has at most 32 bits. A number above 2,147,483,647 becomes this number.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
export function count(value, name) {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw new TypeError(`${name} is no whole number from 0 to 4294967295: ${shown(value)}`);
  }
  return Math.min(value, LARGEST);
}

/**
 * Checks a time in milliseconds, and rounds it up, so that a short time does not become zero. A time above 2,147,483,647 ms, which is about
 * 24.8 days, becomes this time.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
export function milliseconds(value, name) {
  if (typeof value !== "number" || !(value >= 0)) throw new TypeError(`${name} is no time in milliseconds: ${shown(value)}`);
  return Math.min(Math.ceil(value), LARGEST);
}

/**
 * Checks the result of a function of the plugin, and returns the result. Throws if the result is a promise or a generator: the host waits
 * for neither, so the work and its errors would be lost.
 *
 * @internal
 * @template T
 * @param {T} result
 * @param {string} name of the function
 * @returns {T}
 */
export function settled(result, name) {
  const { then, next } = /** @type {any} */ (result ?? {});
  if (typeof then === "function") {
    const why = "Functions of a plugin are synchronous, because the host waits for each call";
    throw new PermanentError(`${name} has returned a promise. ${why}: remove \`async\` and \`await\``);
  }
  if (typeof next === "function") throw new PermanentError(`${name} is a generator, whose code has not run: remove \`*\` and \`yield\``);
  return result;
}

/**
 * Returns a text of a value for error messages. The text of an object is the name of its class.
 *
 * @internal
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  return typeof value === "object" && value !== null ? Object.prototype.toString.call(value) : String(value);
}
