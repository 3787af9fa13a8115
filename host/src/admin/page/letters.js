// Dead letters: some at a time, replayed and dropped.

import { announce, byId, clock, confirmed, element, link, number, put, update } from "./dom.js";
import { state } from "./live.js";
import { act, read } from "./request.js";

const SOME = 50;
const field = byId("letters-plugin");
let offset = 0;
let asked = 0;
let names = "";

const plugin = () => field.value.trim();
const counted = (count) => `${number(count)} ${count === 1 ? "letter" : "letters"}`;

field.addEventListener("input", () => load(0));
byId("letters-before").addEventListener("click", () => load(Math.max(0, offset - SOME)));
byId("letters-after").addEventListener("click", () => load(offset + SOME));
byId("letters-replay-all").addEventListener("click", () => all("replay", "Replay"));
byId("letters-drop-all").addEventListener("click", () => all("drop", "Drop"));

/** Opens the view, for one plugin if the address names one. */
export function open(query) {
  field.value = query.get("plugin") ?? "";
  load(0);
}

/** Reads the letters again. */
export const refresh = () => load(offset);

async function load(from) {
  const request = ++asked;
  const chosen = plugin();
  try {
    const page = await read("/page/letters", { plugin: chosen, offset: from, limit: SOME });
    // A newer request is under way.
    if (request !== asked) return;
    if (page.letters.length === 0 && from > 0) {
      await load(Math.max(0, from - SOME));
      return;
    }
    offset = from;
    draw(page);
  } catch (error) {
    announce(error.message);
  }
}

function draw(page) {
  const end = offset + page.letters.length;
  put(byId("letters-count"), page.total > SOME ? `${number(offset + 1)} to ${number(end)} of ${number(page.total)}` : counted(page.total));
  for (const id of ["letters-replay-all", "letters-drop-all"]) byId(id).disabled = page.total === 0;
  byId("letters-pager").hidden = page.total <= SOME;
  byId("letters-before").disabled = offset === 0;
  byId("letters-after").disabled = end >= page.total;
  const notes = page.problems.map((text) => element("li", { class: "text" }, text));
  const letters = page.letters.map(item);
  if (letters.length === 0) letters.push(element("li", { class: "muted" }, "No dead letters. A plugin that gives up a notification or a key leaves one here."));
  update(byId("letters-list"), [...notes, ...letters]);
}

function item(letter) {
  const name = letter.gvr ? `${letter.gvr} ${letter.key}` : `key ${letter.key}`;
  const about = `of ${letter.plugin} about ${name}`;
  const explain = letter.gvr ? link("explain", { gvr: letter.gvr, key: letter.key }, "Explain") : null;
  return element(
    "li",
    { "data-key": letter.key },
    element(
      "div",
      { class: "what" },
      element("strong", {}, name),
      element("span", {}, letter.verb),
      element("span", { class: "muted" }, letter.plugin),
      element("span", { class: "muted" }, `${letter.attempts} ${letter.attempts === 1 ? "call" : "calls"}`),
      letter.at ? element("time", { class: "muted", datetime: letter.at }, clock(letter.at)) : null,
      element(
        "span",
        { class: "do" },
        explain,
        element("button", { type: "button", "aria-label": `Replay the letter ${about}`, onclick: () => one("replay", letter) }, "Replay"),
        element("button", { type: "button", class: "danger", "aria-label": `Drop the letter ${about}`, onclick: () => one("drop", letter) }, "Drop"),
      ),
    ),
    element("p", { class: "failure code" }, letter.failure),
  );
}

async function one(verb, letter) {
  if (verb === "drop" && !(await confirmed(`Drop the letter about ${letter.key}? It is not delivered any more.`, "Drop"))) return;
  // A letter without a resource is about a key or a signal: `null` would choose the letters of objects with the same key too.
  await send(verb, { plugin: letter.plugin, gvr: letter.gvr ?? "", key: letter.key });
}

async function all(verb, word) {
  const chosen = plugin();
  const whose = chosen ? `of plugin ${chosen}` : "of every plugin";
  if (!(await confirmed(`${word} every dead letter ${whose}?`, `${word} all`))) return;
  await send(verb, { plugin: chosen || null, all: true });
}

async function send(verb, chosen) {
  try {
    const done = await act(`/dead-letters/${verb}`, chosen);
    if (verb === "drop") {
      announce(`Dropped ${counted(done.dropped.length)}.`);
    } else {
      const refused = done.refused.map((one) => `${one.object}: ${one.why}`).slice(0, 3);
      announce([`Replayed ${counted(done.replayed.length)}.`, ...refused].join("\n"));
    }
  } catch (error) {
    announce(error.message);
  }
  await refresh();
}

/** Draws the names of the plugins for the fields. */
export function drawNames() {
  const next = [...state.plugins.keys()].sort();
  if (next.join() === names) return;
  names = next.join();
  byId("plugin-names").replaceChildren(...next.map((name) => element("option", { value: name })));
}
