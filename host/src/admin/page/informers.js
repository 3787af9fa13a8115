// The informers.

import { byId, bytes, element, time, update } from "./dom.js";
import { state } from "./live.js";
import { Table } from "./table.js";

/** The phases in which the informer waits for something that may need an operator. */
const WAITING = ["backing-off", "waiting-for-resource", "stopped"];

const kind = (row) => {
  if (row.troubles.length > 0 || WAITING.includes(row.phase)) return row.synced ? "warn" : "bad";
  return row.synced && row.phase === "watching" ? "good" : "quiet";
};

const table = new Table(byId("informers-table"), {
  label: "Informers",
  empty: "No plugin uses a watch.",
  id: (row) => row.id,
  open: (row) => troubles(row),
  columns: [
    { title: "Watch", text: (row) => (row.superseded ? `${row.watch} (until it is replaced)` : row.watch), wide: "minmax(12rem, 3fr)", few: "minmax(0, 3fr)" },
    { title: "State", text: (row) => `${row.phase}${row.synced ? "" : ", not synced"}`, kind, wide: "minmax(9rem, 1.5fr)", few: "minmax(0, 2fr)" },
    { title: "Data", text: (row) => row.age ?? (row.synced ? "current" : ""), wide: "minmax(6rem, 1fr)" },
    { title: "Lag", text: (row) => (row["lag-ms"] ? time(row["lag-ms"]) : "none"), value: (row) => row["lag-ms"], wide: "5rem", end: true },
    { title: "Objects", text: (row) => row.objects, wide: "6rem", few: "4.5rem", end: true },
    { title: "Memory", text: (row) => bytes(row.bytes), value: (row) => row.bytes, wide: "6rem", end: true },
    { title: "Events", text: (row) => row.events, wide: "6rem", end: true },
    { title: "Relists", text: (row) => row.relists, wide: "4.5rem", end: true },
    { title: "Failures", text: (row) => row.failures, wide: "5rem", end: true },
  ],
});

let chosen = null;

function troubles(row) {
  chosen = row.id;
  const texts = row.troubles.map((text) => element("li", { class: "text" }, text));
  const none = element("p", { class: "muted" }, `${row.watch}: nothing fails.`);
  update(byId("informer-troubles"), [texts.length > 0 ? element("ul", { class: "problems" }, texts) : none]);
}

/** Draws the view. */
export function draw() {
  const rows = [...state.informers.values()];
  table.set(rows);
  const row = state.informers.get(chosen) ?? rows.find((one) => one.troubles.length > 0);
  if (row) troubles(row);
  else byId("informer-troubles").replaceChildren();
}
