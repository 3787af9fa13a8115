/**
 * A setting; `undefined` if there is none. A value that is no text is JSON.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function get(name: string): string | undefined;
/**
 * All settings.
 *
 * @returns {Record<string, string>}
 */
export function all(): Record<string, string>;
