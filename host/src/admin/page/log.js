// The newest log lines of one plugin or of all. They are read when the host tells of newer ones.

import { announce, byId, clock, element } from "./dom.js";
import { state } from "./live.js";
import { act, read } from "./request.js";

const LEVELS = ["trace", "debug", "info", "warn", "error"];
/** The most lines that the page shows. */
const MOST = 1000;

const place = byId("log-lines");
const field = byId("log-plugin");
const level = byId("log-level");
const text = byId("log-text");
const follow = byId("log-follow");
const set = byId("log-set");

let lines = [];
let newest = 0;
let asked = 0;
let asking = false;
/** True if a request was left out because another one was under way. */
let outdated = false;
let starts = 0;

const plugin = () => field.value.trim();

field.addEventListener("change", again);
field.addEventListener("input", () => {
  if (field.value === "" || state.plugins.has(plugin())) again();
});
level.addEventListener("change", draw);
text.addEventListener("input", draw);
follow.addEventListener("change", toEnd);
place.addEventListener("scroll", scrolled, { passive: true });
set.addEventListener("change", change);
byId("log-level").value = "trace";

/** Opens the view, for one plugin if the address names one. */
export function open(query) {
  if (query.has("plugin")) field.value = query.get("plugin");
  again();
}

function again() {
  lines = [];
  newest = 0;
  asked += 1;
  asking = false;
  set.value = "";
  load();
}

/** Reads the lines that are newer than those shown. */
export async function load() {
  // The address may name a plugin before the first event lists the plugins.
  set.disabled = !state.plugins.has(plugin());
  if (starts !== state.starts) {
    // Another process numbers its lines from the start.
    starts = state.starts;
    lines = [];
    newest = 0;
  }
  if (asking) {
    outdated = true;
    return;
  }
  asking = true;
  outdated = false;
  const request = asked;
  try {
    const page = await read("/page/lines", { plugin: plugin(), after: newest });
    if (request !== asked) return;
    const more = page.gap && newest > 0 ? [{ gap: true }, ...page.lines] : page.lines;
    const first = lines.length === 0;
    lines = [...lines, ...more].slice(-MOST);
    newest = page.newest;
    if (first) draw();
    else append(more);
  } catch (error) {
    announce(error.message);
  } finally {
    if (request === asked) asking = false;
  }
  if (outdated) load();
}

function fitting(some) {
  const least = LEVELS.indexOf(level.value);
  const words = text.value.toLowerCase();
  const fits = (line) => line.gap || (LEVELS.indexOf(line.level) >= least && line.message.toLowerCase().includes(words));
  return some.filter(fits).map(item);
}

function draw() {
  const items = fitting(lines);
  const none = lines.length > 0 ? "No line matches." : "No lines yet.";
  if (items.length === 0) items.push(element("li", { class: "gap none" }, none));
  place.replaceChildren(...items);
  toEnd();
}

/** Adds lines at the end. The others stay, with the selection that they have. */
function append(some) {
  const items = fitting(some);
  if (items.length === 0) return;
  place.querySelector(".none")?.remove();
  place.append(...items);
  while (place.childElementCount > MOST) place.firstElementChild.remove();
  toEnd();
}

function toEnd() {
  if (follow.checked) place.scrollTop = place.scrollHeight;
}

/** A reader who scrolls back wants to read, and one at the end wants to follow. */
function scrolled() {
  follow.checked = place.scrollTop + place.clientHeight >= place.scrollHeight - 40;
}

function item(line) {
  if (line.gap) return element("li", { class: "gap" }, "Lines between these are gone.");
  const made = element(
    "li",
    { "data-level": line.level },
    element("span", { class: "at", title: line.at }, clock(line.at).slice(11)),
    element("span", { class: "level" }, line.level),
    element("span", { class: "who", title: line.stream }, line.plugin),
    element("span", { class: "message" }, line.message),
  );
  return made;
}

async function change() {
  if (!set.value) return;
  try {
    const done = await act("/log-level", { plugin: plugin(), level: set.value });
    announce(`The log level of ${done.plugin} is ${done.level} until the host starts anew.`);
  } catch (error) {
    announce(error.message);
  }
}
