/**
 * Sends a request and waits for the answer, without a promise. The host follows no redirect.
 *
 * It throws a `HostError`. Its `code` is `http-request-denied` if the host denies the request, `invalid` if the URL or a header is malformed,
 * and the code of `wasi:http`, like `connection-refused`, if there is no answer.
 *
 * @param {string} url
 * @param {Request} [request]
 * @returns {Answer}
 */
export function fetch(url: string, { method, headers, body, timeoutMs }?: Request): Answer;
/** An answer to a request. Each status is an answer, also 404 or 500. */
export class Answer {
    /**
     * @param {number} status
     * @param {Map<string, string>} headers
     * @param {Uint8Array} bytes
     */
    constructor(status: number, headers: Map<string, string>, bytes: Uint8Array);
    /** The status. */
    status: number;
    /** The headers, with names in lower case. Values of one name are joined by commas. */
    headers: Map<string, string>;
    /** True for a status of 200 to 299. */
    get ok(): boolean;
    /** The body. */
    bytes(): Uint8Array<ArrayBufferLike>;
    /** The body as UTF-8. A replacement character stands for what is no UTF-8. */
    text(): string;
    /**
     * The body, parsed.
     *
     * @returns {any}
     */
    json(): any;
    #private;
}
/**
 * - `method`: `POST` if there is a body, and `GET` otherwise.
 * - `headers`: the values by their names. If there is a body, the SDK adds its length as `content-length`, and ignores a `content-length`
 *   that is here.
 * - `body`: a text, which is sent as UTF-8, or bytes.
 * - `timeoutMs`: the time for the connection, for the head of the answer, and for each piece of its body. The deadline of the call ends
 *   the request in any case.
 */
export type Request = {
    method?: string;
    headers?: Record<string, string>;
    body?: string | Uint8Array;
    timeoutMs?: number;
};
