/**
 * The numbers of a text that are no whole numbers which JavaScript keeps.
 *
 * - `tree`: the value of the text, with the digits of these numbers as strings in their places, and no other strings.
 * - `digits`: the digits that such a number has in the text. There are several if the numbers of several places become the same one.
 *
 * @typedef {{ tree: any, digits: Map<number, Set<string>> }} Numbers
 */
/**
 * - `places`: the digits of the numbers that are as they were read, by the object or array, and the name in it.
 * - `digits`: those of the text.
 * - `path`: the pointer to the object or array.
 *
 * @typedef {{ places: Map<object, Map<string, string | undefined>>, digits: Numbers["digits"] | undefined, depth: number,
 *   path: () => string }} State
 */
/**
 * Parses an object and keeps its text. Objects of lists and of the cache are parsed without it, because they are many.
 *
 * @internal
 * @param {string} json
 * @returns {any}
 */
export function parse(json: string): any;
/**
 * The JSON text of a value. A number that was read is written with the digits that it had. A `bigint` is written as a whole number.
 *
 * A number that JSON cannot hold is an error, and so is a whole number of which JavaScript may have lost digits.
 *
 * @internal
 * @param {unknown} value
 * @param {any} [read] the object of `parse` that was changed
 * @returns {string}
 */
export function stringify(value: unknown, read?: any): string;
/**
 * Returns true if the JSON text of a value is this one.
 *
 * @internal
 * @param {unknown} value
 * @param {string} json
 */
export function isText(value: unknown, json: string): boolean;
/**
 * The text with other numbers and other strings. The names of members stay.
 *
 * @internal
 * @param {string} text
 * @param {(source: string) => string} number
 * @param {(source: string) => string} string
 */
export function rewritten(text: string, number: (source: string) => string, string: (source: string) => string): string;
/**
 * The numbers of a text that are no whole numbers which JavaScript keeps.
 *
 * - `tree`: the value of the text, with the digits of these numbers as strings in their places, and no other strings.
 * - `digits`: the digits that such a number has in the text. There are several if the numbers of several places become the same one.
 */
export type Numbers = {
    tree: any;
    digits: Map<number, Set<string>>;
};
/**
 * - `places`: the digits of the numbers that are as they were read, by the object or array, and the name in it.
 * - `digits`: those of the text.
 * - `path`: the pointer to the object or array.
 */
export type State = {
    places: Map<object, Map<string, string | undefined>>;
    digits: Numbers["digits"] | undefined;
    depth: number;
    path: () => string;
};
