// The plugins, and one of them in detail.

import { byId, bytes, element, facts, link, number, put, time, update } from "./dom.js";
import { state } from "./live.js";
import { read } from "./request.js";
import { Table } from "./table.js";

/** The states, those that need an operator first. */
export const KINDS = { quarantine: "bad", refused: "bad", loading: "quiet", "standing by": "quiet", paused: "quiet", serving: "good" };
const STATES = Object.keys(KINDS);

const table = new Table(byId("plugins-table"), {
  label: "Plugins",
  empty: "No plugin matches.",
  id: (row) => row.name,
  open: (row) => {
    location.hash = `plugin?${new URLSearchParams({ name: row.name })}`;
  },
  columns: [
    { title: "Plugin", text: (row) => row.name, wide: "minmax(8rem, 2fr)", few: "minmax(0, 3fr)" },
    { title: "State", text: (row) => row.state, value: (row) => STATES.indexOf(row.state), kind: (row) => KINDS[row.state], wide: "7rem", few: "6.5rem" },
    { title: "Version", text: (row) => row.version, wide: "minmax(6rem, 2fr)" },
    { title: "Calls", text: (row) => row.calls, wide: "5rem", end: true },
    { title: "Failures", text: (row) => row.failures, wide: "4.5rem", end: true },
    { title: "Median", text: (row) => time(row["p50-ms"]), value: (row) => row["p50-ms"], wide: "4.5rem", end: true },
    { title: "99 %", text: (row) => time(row["p99-ms"]), value: (row) => row["p99-ms"], wide: "4rem", end: true },
    { title: "Memory", text: (row) => bytes(row["memory-bytes"]), value: (row) => row["memory-bytes"], wide: "5.5rem", end: true },
    { title: "Queue", text: (row) => row.pending + row["in-flight"] + row.keys, wide: "4rem", end: true },
    { title: "Dead", text: (row) => row["dead-letters"], wide: "3.5rem", few: "3rem", end: true },
    { title: "Grants", text: (row) => row.grants.join(" "), wide: "minmax(5rem, 1fr)" },
  ],
});

const search = byId("plugins-search");
search.addEventListener("input", draw);

/** Opens the table, with a text to find if the address has one. */
export function openAll(query) {
  if (query.has("find")) search.value = query.get("find");
  draw();
}

/** Draws the table. */
export function draw() {
  const words = search.value.toLowerCase();
  const all = [...state.plugins.values()];
  const found = words ? all.filter((row) => `${row.name} ${row.state} ${row.version}`.toLowerCase().includes(words)) : all;
  put(byId("plugins-count"), `${number(found.length)} of ${number(all.length)}`);
  table.set(found);
}

let opened = null;
let asking = false;
/** True if a request was left out because another one was under way. */
let outdated = false;

/** Opens one plugin. */
export function open(query) {
  const name = query.get("name") ?? "";
  if (name !== opened) byId("plugin-detail").replaceChildren();
  opened = name;
  put(byId("title-plugin"), name);
  detail();
}

/** Reads the plugin in detail. Only one request is under way at a time. */
export async function detail() {
  if (opened === null) return;
  if (asking) {
    outdated = true;
    return;
  }
  asking = true;
  const name = opened;
  try {
    const found = await read("/page/plugin", { name });
    if (name === opened) update(byId("plugin-detail"), parts(found));
  } catch (error) {
    if (name === opened) byId("plugin-detail").replaceChildren(element("p", { class: "notice" }, error.message));
  } finally {
    asking = false;
  }
  if (outdated) {
    outdated = false;
    detail();
  }
}

function parts({ plugin, grants, ...latency }) {
  const { calls, queue, workqueue, signals, version } = plugin;
  const row = state.plugins.get(plugin.name);
  const quarantine = queue.quarantine ?? workqueue?.quarantine ?? signals?.quarantine;
  const links = element("p", { class: "links" }, link("letters", { plugin: plugin.name }, "Dead letters"), link("log", { plugin: plugin.name }, "Log"), link("configuration", { find: `plugin ${plugin.name}` }, "Configuration"));
  const made = facts([
    ["State", row?.state],
    ["Name and version", version ? `${version.guest} ${version.version}` : "none in service"],
    ["File", plugin.source],
    ["Digest", version?.digest],
    ["SDK", version?.sdk],
    ["Exports", plugin.exports.join(", ")],
    ["Log level", plugin["log-level"] ?? "that of the host"],
  ]);
  const called = facts([
    ["Ended", number(calls.made)],
    ["Succeeded", number(calls.acknowledged)],
    ["Failed", Object.entries(calls.failures).map(([kind, count]) => `${kind} ${number(count)}`).join(", ") || "0"],
    ["Last failure", calls["last-failure"]],
    ["Median", time(latency["p50-ms"])],
    ["99 %", time(latency["p99-ms"])],
    ["Memory", bytes(calls["memory-bytes"])],
    ["Instances", `${number(calls.instances.created)} made, ${number(calls.instances.idle)} idle`],
    ["Requests to the host", number(calls["host-calls"])],
  ]);
  const queued = facts([
    ["Notifications", `${number(queue.pending)} pending, ${number(queue["in-flight"])} in flight`],
    ["Oldest", time(queue["oldest-ms"])],
    ["Merged", number(Object.values(queue.merged).reduce((sum, count) => sum + count, 0))],
    ["Retried", number(queue.retried)],
    ["Keys", workqueue ? `${number(workqueue.ready)} ready, ${number(workqueue.delayed)} delayed, ${number(workqueue["in-flight"])} in flight` : null],
    ["Quarantines", number(queue.quarantines)],
    ["Dead letters", number(row?.["dead-letters"])],
  ]);
  const counters = (one) => Object.entries(one).filter(([, value]) => typeof value === "number");
  const subscribed = plugin.subscriptions.map((one) => [one.watch, counters(one).map(([name, count]) => `${name} ${number(count)}`).join(", ")]);
  const granted = grants.map((grant) => [grant.kind, [...grant.granted, grant.used ? `used: ${grant.used}` : null].filter(Boolean).join("\n")]);
  return [
    links,
    quarantine ? element("p", { class: "notice" }, quarantine.text) : null,
    plugin.refused ? element("p", { class: "notice" }, `The present file is not in service: ${plugin.refused}`) : null,
    element(
      "div",
      { class: "cards" },
      card("Version", made),
      card("Calls since the start", called),
      card("Queues", queued),
      card("Grants", granted.length > 0 ? facts(granted) : element("p", { class: "muted" }, "None.")),
      card("Subscriptions", subscribed.length > 0 ? facts(subscribed) : element("p", { class: "muted" }, "None.")),
    ),
  ].filter(Boolean);
}

const card = (title, content) => element("section", { class: "card" }, element("h3", {}, title), content);
