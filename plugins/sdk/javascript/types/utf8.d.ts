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
