/**
 * Calls a function of the host. What it throws becomes a `HostError` or `ApiError`, with the stack of the caller.
 *
 * @internal
 * @template T
 * @param {() => T} request
 * @returns {T}
 */
export function call<T>(request: () => T): T;
/**
 * Text that the host can receive. A replacement character stands for half a character, such as the rest of an emoji that was cut: QuickJS
 * would end the call with a trap for it.
 *
 * @internal
 * @param {string} value
 */
export function wellFormed(value: string): string;
/**
 * Checks an argument that the host receives as text. The engine would end the call with a trap.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {string}
 */
export function text(value: unknown, name: string): string;
/**
 * Checks a whole number that is not negative and has at most 32 bits. A number above 2,147,483,647 becomes this number.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
export function count(value: unknown, name: string): number;
/**
 * Checks a time in milliseconds, and rounds it up, so that a short time does not become zero. A time above 2,147,483,647 ms, which is about
 * 24.8 days, becomes this time.
 *
 * @internal
 * @param {unknown} value
 * @param {string} name
 * @returns {number}
 */
export function milliseconds(value: unknown, name: string): number;
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
export function settled<T>(result: T, name: string): T;
/**
 * Returns a text of a value for error messages. The text of an object is the name of its class.
 *
 * @internal
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value: unknown): string;
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
    constructor(code: string, text: string, options?: ErrorOptions);
    /**
     * The kind of the failure: `unknown-resource`, `not-granted`, `stale-token`, `stale-page`, `invalid`, `too-large`,
     * `limit-exceeded` or `internal`; of key-values `no-such-store`, `access-denied` or `other`; of the configuration `upstream` or
     * `io`; of HTTP requests `http-request-denied`, and what `http.fetch` says.
     * @type {string}
     */
    code: string;
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
    constructor(code: string, text: string, status?: number, retryAfterMs?: number, options?: ErrorOptions);
    /**
     * The HTTP status, or 0 if there was no answer.
     * @type {number}
     */
    status: number;
    /**
     * The time in milliseconds after which the server, or the limit of the plugin, accepts another request. A handler that does not
     * catch the error is called again after this time.
     * @type {number | undefined}
     */
    retryAfterMs: number | undefined;
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
    constructor(message: string, options?: ErrorOptions);
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
    constructor(message: string, millis: number, options?: ErrorOptions);
    /**
     * The time until the next attempt, in milliseconds.
     * @type {number}
     */
    millis: number;
}
