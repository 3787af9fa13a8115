/**
 * Key-values that survive reloads and restarts of the host. They need the grant `keyvalue`. A write that returned is on disk.
 *
 * @module
 */

import { increment } from "wasi:keyvalue/atomics@0.2.0-draft";
import { open as openBucket } from "wasi:keyvalue/store@0.2.0-draft";

import { call, text } from "./errors.js";
import { decode, encode } from "./utf8.js";

/** A bucket of key-values. Values are kept as JSON text. */
export class Bucket {
  #bucket;

  /** @param {string} name */
  constructor(name) {
    this.#bucket = call(() => openBucket(text(name, "the name of the bucket")));
  }

  /**
   * The value of a key; `undefined` if there is none.
   *
   * @param {string} key
   * @returns {any}
   */
  get(key) {
    const bytes = this.getBytes(key);
    return bytes === undefined ? undefined : JSON.parse(decode(bytes));
  }

  /**
   * Keeps a value, which JSON can hold.
   *
   * @param {string} key
   * @param {unknown} value
   */
  set(key, value) {
    const json = JSON.stringify(value);
    if (json === undefined) throw new TypeError(`the value of ${key} cannot be written as JSON`);
    this.setBytes(key, encode(json));
  }

  /**
   * The bytes of a key; `undefined` if there is none.
   *
   * @param {string} key
   * @returns {Uint8Array | undefined}
   */
  getBytes(key) {
    return call(() => this.#bucket.get(text(key, "key"))) ?? undefined;
  }

  /**
   * @param {string} key
   * @param {Uint8Array} bytes
   */
  setBytes(key, bytes) {
    if (!(bytes instanceof Uint8Array)) throw new TypeError(`the value of ${key} is no Uint8Array`);
    call(() => this.#bucket.set(text(key, "key"), bytes));
  }

  /** @param {string} key */
  has(key) {
    return call(() => this.#bucket.exists(text(key, "key")));
  }

  /**
   * Deletes a key. Nothing happens if there is none.
   *
   * @param {string} key
   */
  delete(key) {
    call(() => this.#bucket.delete(text(key, "key")));
  }

  /**
   * All keys, in the order of their bytes.
   *
   * @returns {Generator<string, void, void>}
   */
  *keys() {
    /** @type {any} */
    let cursor = null;
    do {
      const page = call(() => this.#bucket.listKeys(cursor));
      yield* page.keys;
      cursor = page.cursor ?? null;
    } while (cursor !== null);
  }

  /**
   * Adds to a whole number in one step, and returns the sum. A missing value counts as 0. `get` reads the number. `delta` is not negative.
   *
   * @param {string} key
   * @param {number} [delta]
   */
  increment(key, delta = 1) {
    if (!Number.isSafeInteger(delta) || delta < 0) {
      throw new TypeError(`delta is no whole number from 0 to ${Number.MAX_SAFE_INTEGER}: ${String(delta)}`);
    }
    return Number(call(() => increment(this.#bucket, text(key, "key"), delta)));
  }
}

/**
 * Opens a bucket, which is made if it is missing. It belongs to this plugin alone.
 *
 * @param {string} [name]
 */
export function open(name = "") {
  let bucket = opened.get(name);
  if (bucket === undefined) {
    bucket = new Bucket(name);
    opened.set(name, bucket);
  }
  return bucket;
}

/**
 * The open buckets by their names. The engine closes no bucket, and an instance may have 64 of them open.
 *
 * @type {Map<string, Bucket>}
 */
const opened = new Map();
