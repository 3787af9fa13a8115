/**
 * Opens a bucket, which is made if it is missing. It belongs to this plugin alone.
 *
 * @param {string} [name]
 */
export function open(name?: string): Bucket;
/** A bucket of key-values. Values are kept as JSON text. */
export class Bucket {
    /** @param {string} name */
    constructor(name: string);
    /**
     * The value of a key; `undefined` if there is none.
     *
     * @param {string} key
     * @returns {any}
     */
    get(key: string): any;
    /**
     * Keeps a value, which JSON can hold.
     *
     * @param {string} key
     * @param {unknown} value
     */
    set(key: string, value: unknown): void;
    /**
     * The bytes of a key; `undefined` if there is none.
     *
     * @param {string} key
     * @returns {Uint8Array | undefined}
     */
    getBytes(key: string): Uint8Array | undefined;
    /**
     * @param {string} key
     * @param {Uint8Array} bytes
     */
    setBytes(key: string, bytes: Uint8Array): void;
    /** @param {string} key */
    has(key: string): boolean;
    /**
     * Deletes a key. Nothing happens if there is none.
     *
     * @param {string} key
     */
    delete(key: string): void;
    /**
     * All keys, in the order of their bytes.
     *
     * @returns {Generator<string, void, void>}
     */
    keys(): Generator<string, void, void>;
    /**
     * Adds to a whole number in one step, and returns the sum. A missing value counts as 0. `get` reads the number. `delta` is not negative.
     *
     * @param {string} key
     * @param {number} [delta]
     */
    increment(key: string, delta?: number): number;
    #private;
}
