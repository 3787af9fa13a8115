// The configuration in force, and what reloads changed.

import { announce, byId, clock, element, facts, number, put, update } from "./dom.js";
import { act, read } from "./request.js";
import { Table } from "./table.js";

const KINDS = { added: "good", changed: "warn", removed: "bad" };
const search = byId("configuration-search");
const changed = byId("configuration-changed");
const button = byId("reload");
let keys = [];
let seen = "";

const table = new Table(byId("configuration-table"), {
  label: "Keys of the configuration",
  empty: "No key matches. Keys that are not written have their defaults.",
  id: (row) => `${row.section} ${row.key}`,
  open: show,
  columns: [
    { title: "Section", text: (row) => row.section, wide: "minmax(8rem, 1fr)", few: "minmax(0, 1fr)" },
    { title: "Key", text: (row) => row.key, wide: "minmax(8rem, 1.5fr)", few: "minmax(0, 1fr)" },
    { title: "Value", text: (row) => row.value ?? "(default)", wide: "minmax(8rem, 2fr)", few: "minmax(0, 1fr)" },
    { title: "Last reload", text: (row) => row.change ?? "", kind: (row) => KINDS[row.change], wide: "7rem" },
    { title: "Before", text: (row) => row.before ?? "", wide: "minmax(6rem, 1fr)" },
  ],
});

search.addEventListener("input", draw);
changed.addEventListener("change", draw);
button.addEventListener("click", reload);

/** Opens the view, with a text to find if the address has one. */
export function open(query) {
  if (query.has("find")) search.value = query.get("find");
  load();
}

/** Reads the configuration. */
export async function load() {
  try {
    const answer = await read("/page/configuration");
    keys = answer.keys;
    notes(answer);
    draw();
  } catch (error) {
    announce(error.message);
  }
}

function draw() {
  const words = search.value.toLowerCase();
  const fits = (row) => (!changed.checked || row.change) && `${row.section} ${row.key} ${row.value}`.toLowerCase().includes(words);
  const found = keys.filter(fits);
  put(byId("configuration-count"), `${number(found.length)} of ${number(keys.length)} keys`);
  table.set(found);
}

/** Shows one key below the table, where a long value has room. */
function show(row) {
  const pairs = [["Section", row.section], ["Key", row.key], ["Value", row.value ?? "(default)"], ["Last reload", row.change], ["Before", row.before]];
  update(byId("configuration-key"), [facts(pairs)]);
}

function notes(answer) {
  const { refused, reloads, applied } = answer;
  const restart = answer["needs-restart"];
  const next = JSON.stringify([refused, reloads, restart, applied]);
  if (next === seen) return;
  seen = next;
  const made = [];
  if (refused) made.push(element("p", { class: "notice" }, ["The present file is refused; the configuration before stays:", ...refused].join("\n")));
  if (restart.length > 0) made.push(element("p", { class: "notice" }, `These take effect when the host starts anew: ${restart.join(", ")}`));
  made.push(element("p", { class: "muted" }, `Applied ${clock(applied)}. Only keys that are written are listed; values that may be secret are shown as ***.`));
  byId("configuration-notes").replaceChildren(...made);
  const past = reloads.map((one) => element("li", {}, element("time", { datetime: one.at }, clock(one.at)), ...lines(one).map((line) => element("div", { class: "text" }, line))));
  byId("reloads").replaceChildren(...(past.length > 0 ? past : [element("li", { class: "muted" }, "None did anything since the start.")]));
}

const lines = (report) => [
  ...report.problems,
  ...report.changes.map((one) => `${one.kind} ${one.name}: ${one.verdict}${one.detail ? `: ${one.detail}` : ""}`),
];

async function reload() {
  button.disabled = true;
  try {
    const report = await act("/reload", {});
    const done = lines(report);
    announce(done.length > 0 ? done.slice(0, 5).join("\n") : "Nothing had changed.");
  } catch (error) {
    announce(error.message);
  } finally {
    button.disabled = false;
  }
  await load();
}
