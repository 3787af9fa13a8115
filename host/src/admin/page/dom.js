// Elements and texts. A text is always inserted as a text, never as HTML.

// Characters that control, reorder or hide text: those for which `is_hidden` of the host returns true, except for line feeds and
// tabs. The variation selectors of emoji stay.
const HIDDEN = /(?![\n\t\ufe00-\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

export const byId = (id) => document.getElementById(id);

/** The text with hidden characters written out. Names and failures come from guests and servers. */
export const shown = (text) =>
  String(text).replace(HIDDEN, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);

/** Sets the text of an element, if it differs. */
export function put(node, text) {
  const next = text === null || text === undefined ? "" : shown(text);
  if (node.textContent !== next) node.textContent = next;
}

/** A new element. Attributes that start with "on" are listeners; children are elements or texts. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    made.append(child instanceof Node ? child : shown(child));
  }
  return made;
}

const alike = (one, other) => one.cloneNode(false).isEqualNode(other.cloneNode(false));

/** Makes the children of an element equal to these nodes. Equal ones stay, with the focus and the selection that they have. */
export function update(place, nodes) {
  const kept = [...place.childNodes];
  nodes.forEach((node, index) => {
    const old = kept[index];
    if (!old) place.append(node);
    else if (old.isEqualNode(node)) return;
    else if (old.nodeType === Node.TEXT_NODE && node.nodeType === Node.TEXT_NODE) old.data = node.data;
    else if (alike(old, node)) update(old, [...node.childNodes]);
    else old.replaceWith(node);
  });
  for (const extra of kept.slice(nodes.length)) extra.remove();
}

/** A list of facts: pairs of a name and a text or an element. Pairs without a value are left out. */
export function facts(pairs) {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("dt", {}, name), element("dd", {}, value));
  }
  return list;
}

/** A link within the page. */
export const link = (view, query, text) =>
  element("a", { href: `#${view}?${new URLSearchParams(query)}` }, text);

export const number = (value) => (value === null || value === undefined ? "" : value.toLocaleString("en-GB"));

export function bytes(value) {
  if (value === null || value === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let left = value;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${left >= 100 || unit === 0 ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}

export function time(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** The clock time of an RFC 3339 text, in the zone of the reader. */
export function clock(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleString("sv-SE");
}

let clearing = 0;

/** Shows a result for some seconds, and has it read aloud. */
export function announce(text) {
  put(byId("announcement"), text);
  clearTimeout(clearing);
  clearing = setTimeout(() => put(byId("announcement"), ""), 8000);
}

/** Puts a question. Resolves to true if the user agrees. */
export function confirmed(question, yes) {
  const dialog = byId("question");
  put(byId("question-text"), question);
  put(byId("question-yes"), yes);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
