/**
 * @param {string} text
 * @returns {Uint8Array}
 */
export function encode(text: string): Uint8Array;
/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function decode(bytes: Uint8Array): string;
/**
 * Decodes text of another program: a replacement character stands for each part that is no UTF-8.
 *
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function decodeLossy(bytes: Uint8Array): string;
