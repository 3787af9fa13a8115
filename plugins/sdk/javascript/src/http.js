/**
 * HTTP requests to the places that the grant `http` names. They need the engine StarlingMonkey: QuickJS has no bindings for them.
 *
 * @module
 */

import { handle } from "wasi:http/outgoing-handler@0.2.12";
import { Fields, OutgoingBody, OutgoingRequest, RequestOptions, httpErrorCode } from "wasi:http/types@0.2.12";

import { HostError, call, milliseconds, text } from "./errors.js";
import { decodeLossy, encode } from "./utf8.js";

/**
 * - `method`: `POST` if there is a body, and `GET` otherwise.
 * - `headers`: the values by their names. If there is a body, the SDK adds its length as `content-length`, and ignores a `content-length`
 *   that is here.
 * - `body`: a text, which is sent as UTF-8, or bytes.
 * - `timeoutMs`: the time for the connection, for the head of the answer, and for each piece of its body. The deadline of the call ends
 *   the request in any case.
 *
 * @typedef {{ method?: string, headers?: Record<string, string>, body?: string | Uint8Array, timeoutMs?: number }} Request
 */

/** The most bytes that a stream takes at once. */
const PIECE = 4096;

/** The bytes that are read at once. */
const READ = 65536n;

const NANOS_PER_MILLI = 1_000_000n;

/** An answer to a request. Each status is an answer, also 404 or 500. */
export class Answer {
  #bytes;

  /**
   * @param {number} status
   * @param {Map<string, string>} headers
   * @param {Uint8Array} bytes
   */
  constructor(status, headers, bytes) {
    /** The status. */
    this.status = status;
    /** The headers, with names in lower case. Values of one name are joined by commas. */
    this.headers = headers;
    this.#bytes = bytes;
  }

  /** True for a status of 200 to 299. */
  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  /** The body. */
  bytes() {
    return this.#bytes;
  }

  /** The body as UTF-8. A replacement character stands for what is no UTF-8. */
  text() {
    return decodeLossy(this.#bytes);
  }

  /**
   * The body, parsed.
   *
   * @returns {any}
   */
  json() {
    return JSON.parse(this.text());
  }
}

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
export function fetch(url, { method, headers = {}, body, timeoutMs } = {}) {
  const [, scheme, authority, path] = /^(https?):\/\/([^/?#]+)([^#]*)/i.exec(text(url, "url")) ?? [];
  if (scheme === undefined) throw new HostError("invalid", "the URL does not begin with http:// or https:// and a host");
  const verb = text(method ?? (body === undefined ? "GET" : "POST"), "method");
  const bytes = typeof body === "string" ? encode(body) : body;
  if (bytes !== undefined && !(bytes instanceof Uint8Array)) throw new TypeError("the body is neither a string nor a Uint8Array");
  /** @type {Array<[string, Uint8Array]>} */
  const fields = Object.entries(headers).map(([name, value]) => [text(name, "the name of a header").toLowerCase(), encode(text(value, name))]);
  // Servers refuse a request with two headers of this name, and the length of the body is added below.
  const sized = bytes === undefined ? fields : fields.filter(([name]) => name !== "content-length");
  if (bytes !== undefined) sized.push(["content-length", encode(String(bytes.length))]);
  try {
    const outgoing = head(verb, scheme.toLowerCase(), authority, path.startsWith("/") ? path : `/${path}`, sized);
    return exchange(outgoing, bytes, timeoutMs === undefined ? undefined : patience(milliseconds(timeoutMs, "timeoutMs")));
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    // The path of a webhook is often a secret, and so is a password before the host, so that no error has them.
    const place = authority.slice(authority.lastIndexOf("@") + 1);
    throw new HostError(error.code, `${verb} ${scheme.toLowerCase()}://${place}: ${reason(error.code)}`);
  }
}

/** @param {string} code */
function reason(code) {
  if (code === "http-request-denied") {
    return "the host denies it; `http` under [plugin.grant] names the places, and the log has the reason";
  }
  return code === "invalid" ? "the host refuses a part of the request" : "there is no answer";
}

/**
 * Calls a function whose failure means that the host refuses its argument.
 *
 * @template T
 * @param {() => T} request
 * @returns {T}
 */
function fits(request) {
  try {
    return request();
  } catch {
    throw new HostError("invalid", "the host refuses a part of the request");
  }
}

/**
 * @param {string} method
 * @param {string} scheme
 * @param {string} authority
 * @param {string} path
 * @param {Array<[string, Uint8Array]>} fields
 */
function head(method, scheme, authority, path, fields) {
  const known = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH)$/.test(method);
  const request = new OutgoingRequest(fits(() => Fields.fromList(fields)));
  fits(() => {
    request.setMethod(/** @type {any} */ (known ? { tag: method.toLowerCase() } : { tag: "other", val: method }));
    request.setScheme(/** @type {any} */ ({ tag: scheme.toUpperCase() }));
    request.setAuthority(authority);
    request.setPathWithQuery(path);
  });
  return request;
}

/** @param {number} millis */
function patience(millis) {
  const options = new RequestOptions();
  const nanos = /** @type {any} */ (BigInt(millis) * NANOS_PER_MILLI);
  fits(() => {
    options.setConnectTimeout(nanos);
    options.setFirstByteTimeout(nanos);
    options.setBetweenBytesTimeout(nanos);
  });
  return options;
}

/**
 * @param {OutgoingRequest} request
 * @param {Uint8Array | undefined} bytes
 * @param {RequestOptions | undefined} options
 */
function exchange(request, bytes, options) {
  const body = bytes === undefined ? undefined : fits(() => request.body());
  const future = sent(() => handle(request, options ?? null));
  if (body !== undefined) write(body, /** @type {Uint8Array} */ (bytes));
  const ready = future.subscribe();
  ready.block();
  dispose(ready);
  const got = /** @type {any} */ (future.get());
  const result = got?.val;
  if (result?.tag === "err") dispose(future);
  const response = sent(() => {
    if (result?.tag !== "ok") throw { payload: result?.val ?? { tag: "internal-error" } };
    return result.val;
  });
  try {
    return new Answer(response.status(), received(response), read(response));
  } finally {
    dispose(response);
    dispose(future);
  }
}

/**
 * The headers of an answer.
 *
 * @param {any} response
 * @returns {Map<string, string>}
 */
function received(response) {
  const fields = response.headers();
  try {
    const headers = new Map();
    for (const [name, bytes] of fields.entries()) {
      const [before, value] = [headers.get(name), decodeLossy(bytes)];
      headers.set(name, before === undefined ? value : `${before}, ${value}`);
    }
    return headers;
  } finally {
    dispose(fields);
  }
}

/**
 * Sends the body. If that fails, the answer reports it.
 *
 * @param {OutgoingBody} body
 * @param {Uint8Array} bytes
 */
function write(body, bytes) {
  const stream = body.write();
  try {
    for (let at = 0; at < bytes.length; at += PIECE) stream.blockingWriteAndFlush(bytes.subarray(at, at + PIECE));
  } catch (error) {
    dispose(/** @type {any} */ (error)?.payload?.val);
    dispose(stream);
    dispose(body);
    return;
  }
  dispose(stream);
  try {
    OutgoingBody.finish(body, null);
  } catch {
    // The answer reports it.
  }
}

/** @param {any} response */
function read(response) {
  const body = response.consume();
  const stream = body.stream();
  /** @type {Uint8Array[]} */
  const pieces = [];
  try {
    for (;;) pieces.push(stream.blockingRead(READ));
  } catch (error) {
    const { payload } = /** @type {any} */ (error);
    if (payload?.tag !== "closed") {
      // The host has no code for an answer that breaks off. Its log has the reason.
      const code = httpErrorCode(payload.val) ?? { tag: "HTTP-response-incomplete" };
      dispose(payload.val);
      sent(() => {
        throw { payload: code };
      });
    }
  } finally {
    dispose(stream);
    dispose(body);
  }
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let length = 0;
  for (const piece of pieces) {
    whole.set(piece, length);
    length += piece.length;
  }
  return whole;
}

/**
 * Calls a function whose failure is a code of `wasi:http`.
 *
 * @template T
 * @param {() => T} request
 * @returns {T}
 */
function sent(request) {
  try {
    return call(request);
  } catch (error) {
    if (error instanceof HostError) throw new HostError(error.code.toLowerCase(), "there is no answer");
    throw error;
  }
}

/**
 * Gives a handle back to the host.
 *
 * @param {any} resource
 */
function dispose(resource) {
  resource?.[/** @type {any} */ (Symbol).dispose]?.();
}
