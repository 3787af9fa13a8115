// Objects as JSON text whose numbers stay as they are. JavaScript rounds a whole number above 9,007,199,254,740,991, and `JSON.parse` of
// the engines does not show the digits. So this module keeps the text of an answer of `client` as long as its object lives, and a write
// takes the digits of such numbers from the text.

/**
 * The texts of the objects that were read, by the object and by its metadata, which a shallow copy shares.
 *
 * @type {WeakMap<object, string>}
 */
const texts = new WeakMap();

/** A number in the text between two strings. */
const NUMBER = /-?\d[\d.eE+-]*/g;

/** The deepest nesting of a value. A body may be nested far less deeply, and a value that refers to itself is nested without end. */
const DEEPEST = 1000;

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
export function parse(json) {
  const object = JSON.parse(json);
  for (const part of [object, object?.metadata]) {
    if (typeof part === "object" && part !== null) texts.set(part, json);
  }
  return object;
}

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
export function stringify(value, read = value) {
  const text = texts.get(read) ?? texts.get(read?.metadata);
  const numbers = text === undefined ? undefined : found(text);
  const places = new Map();
  if (text !== undefined && numbers !== undefined) follow(value, numbers.tree, JSON.parse(text), places);
  const json = written({ "": value }, "", { places, digits: numbers?.digits, depth: 0, path: () => "" });
  if (json === undefined) throw new TypeError(`${typeof value} cannot be written as JSON`);
  return json;
}

/**
 * Returns true if the JSON text of a value is this one.
 *
 * @internal
 * @param {unknown} value
 * @param {string} json
 */
export function isText(value, json) {
  try {
    return JSON.stringify(value) === json;
  } catch {
    // It has a BigInt or refers to itself: JSON.parse has not made it.
    return false;
  }
}

/**
 * @param {string} text
 * @returns {Numbers | undefined} `undefined` if there are none
 */
function found(text) {
  /** @type {Numbers["digits"]} */
  const digits = new Map();
  const marked = (/** @type {string} */ source) => {
    const number = Number(source);
    if (Number.isSafeInteger(number) && String(number) === source) return source;
    digits.set(number, (digits.get(number) ?? new Set()).add(source));
    return `"${source}"`;
  };
  const tree = rewritten(text, marked, () => "0");
  return digits.size === 0 ? undefined : { tree: JSON.parse(tree), digits };
}

/**
 * The text with other numbers and other strings. The names of members stay.
 *
 * @internal
 * @param {string} text
 * @param {(source: string) => string} number
 * @param {(source: string) => string} string
 */
export function rewritten(text, number, string) {
  const parts = [];
  let at = 0;
  for (let open = text.indexOf('"'); open >= 0; open = text.indexOf('"', at)) {
    parts.push(text.slice(at, open).replace(NUMBER, number));
    at = end(text, open);
    const source = text.slice(open, at);
    parts.push(isName(text, at) ? source : string(source));
  }
  parts.push(text.slice(at).replace(NUMBER, number));
  return parts.join("");
}

/**
 * The place after a string.
 *
 * @param {string} text
 * @param {number} open the place of its first quote
 */
function end(text, open) {
  let close = open;
  let escapes = 1;
  while (escapes % 2 === 1) {
    close = text.indexOf('"', close + 1);
    if (close < 0) throw new SyntaxError("a string of the JSON text has no end");
    escapes = 0;
    while (text[close - 1 - escapes] === "\\") escapes += 1;
  }
  return close + 1;
}

/**
 * @param {string} text
 * @param {number} at the place after a string
 */
function isName(text, at) {
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return text[at] === ":";
}

/**
 * Finds the numbers that are as they were read, by their places. The elements of an array have other places if the array has changed.
 *
 * @param {any} value
 * @param {any} tree
 * @param {any} read the value as it was read
 * @param {State["places"]} places
 */
function follow(value, tree, read, places) {
  if (typeof value !== "object" || value === null || typeof tree !== "object" || tree === null) return;
  if (Array.isArray(tree) && !begins(value, read)) return;
  for (const [name, inside] of Object.entries(tree)) {
    if (!Object.hasOwn(value, name)) continue;
    if (typeof inside !== "string") {
      follow(value[name], inside, read[name], places);
    } else if (Object.is(value[name], Number(inside))) {
      const known = places.get(value) ?? new Map();
      // An object that is in two places has no digits of its own if those of the places differ.
      places.set(value, known.set(name, known.has(name) && known.get(name) !== inside ? undefined : inside));
    }
  }
}

/**
 * Returns true if an array begins with the elements that were read.
 *
 * @param {unknown} value
 * @param {unknown[]} read
 */
function begins(value, read) {
  return Array.isArray(value) && isText(value.slice(0, read.length), JSON.stringify(read));
}

/**
 * What `JSON.stringify` writes for a member, with the digits of its numbers.
 *
 * @param {any} holder
 * @param {string} name
 * @param {State} state
 * @returns {string | undefined}
 */
function written(holder, name, state) {
  const value = plain(holder[name], name);
  if (typeof value === "number") return state.places.get(holder)?.get(name) ?? digitsOf(value, name, state);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (state.depth === DEEPEST) throw new TypeError("the value refers to itself, or is nested too deeply");
  const inside = { ...state, depth: state.depth + 1, path: () => `${state.path()}/${name}` };
  const parts = [];
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) parts.push(written(value, String(at), inside) ?? "null");
    return `[${parts.join(",")}]`;
  }
  for (const member of Object.keys(value)) {
    const json = written(value, member, inside);
    if (json !== undefined) parts.push(`${JSON.stringify(member)}:${json}`);
  }
  return `{${parts.join(",")}}`;
}

/**
 * What `JSON.stringify` takes for a value.
 *
 * @param {any} value
 * @param {string} name
 */
function plain(value, name) {
  if (typeof value !== "object" || value === null) return value;
  if (typeof value.toJSON === "function") return value.toJSON(name);
  return value instanceof Number || value instanceof String || value instanceof Boolean ? value.valueOf() : value;
}

/**
 * The digits of a number that has another place than before, or is new.
 *
 * @param {number} number
 * @param {string} name
 * @param {State} state
 */
function digitsOf(number, name, state) {
  if (Number.isSafeInteger(number)) return String(number);
  const known = state.digits?.get(number);
  if (known?.size === 1) return [...known].join();
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER) return String(number);
  // The pointer to the value itself is empty.
  const path = `${state.path()}/${name}`.slice(1);
  if (!Number.isFinite(number)) throw new TypeError(`${path} is ${number}, which JSON cannot hold`);
  const problem = `${path} is ${BigInt(number)}, of which JavaScript may have rounded the last digits`;
  if (known === undefined) throw new TypeError(`${problem}: change the object by client.modify, or write a BigInt, such as 9007199254740993n`);
  throw new TypeError(`${problem}, and the object has several such numbers: send only what changes, by client.mergePatch, with a BigInt`);
}
