// The overview: the sums, how much is done, and everything that is wrong.

import { byId, bytes, element, link, number, put, update } from "./dom.js";
import { state } from "./live.js";
import { KINDS } from "./plugins.js";
import { Rate } from "./rate.js";

/** A sum: its name, its value, what it is a part of, and the view that has the parts. */
const TOTALS = [
  ["Informers synced", ({ totals }) => number(totals.synced), () => number(state.informers.size), "informers"],
  ["Objects cached", ({ totals }) => number(totals.objects), null, "informers"],
  ["Memory of objects", (host) => bytes(host["cache-bytes"]), (host) => bytes(host["cache-ceiling-bytes"]), "informers"],
  ["Plugins loaded", ({ totals }) => number(totals.serving), () => number(state.plugins.size), "plugins"],
  ["Memory of plugins", (host) => bytes(host["guest-bytes"]), (host) => bytes(host["guest-ceiling-bytes"]), "plugins"],
  ["Calls", ({ totals }) => number(totals.calls), null, "plugins"],
  ["Pending in queues", ({ totals }) => number(totals.pending), null, "plugins"],
  ["Dead letters", ({ totals }) => number(totals["dead-letters"]), null, "letters"],
];

const tiles = TOTALS.map(([name, , , view]) => {
  const [value, whole] = [element("span", {}, "–"), element("small", {})];
  const title = element("dt", {}, element("a", { href: `#${view}` }, name));
  byId("totals").append(element("div", {}, title, element("dd", {}, value, " ", whole)));
  return { value, whole };
});

const rate = new Rate(byId("rates"), byId("rate"));

/** The word for the whole host, and its kind. */
export function verdict(host) {
  if (host.unready.count > 0) return ["Not ready", "bad"];
  const standsBy = host.election && !host.election.leads;
  if (host.degraded.count > 0) {
    const one = host.degraded.count === 1;
    return [`${standsBy ? "Stands by" : "Ready"}, ${number(host.degraded.count)} ${one ? "problem" : "problems"}`, "warn"];
  }
  if (standsBy) return host.election.leader ? ["Stands by", "quiet"] : ["Stands by, no leader is known", "warn"];
  return ["All is well", "good"];
}

/** The role of the host in its election, in the words of `informer status`. */
function role({ lease, leads, leader }) {
  if (leads) return `This host leads, and holds the lease ${lease}.`;
  const holder = leader ? `${leader} holds the lease ${lease}` : `no other host is known to hold the lease ${lease}`;
  return `This host stands by, and calls no plugin: ${holder}.`;
}

function items({ count, first }, kind) {
  const some = first.map((text) => element("li", { class: `text ${kind}` }, text));
  if (count > first.length) some.push(element("li", { class: kind }, `and ${number(count - first.length)} more`));
  return some;
}

function drawStates() {
  const counts = new Map(Object.keys(KINDS).map((name) => [name, 0]));
  for (const row of state.plugins.values()) counts.set(row.state, counts.get(row.state) + 1);
  const present = [...counts].filter(([, count]) => count > 0);
  const parts = present.map(([name, count]) => {
    const part = element("span", { "data-kind": KINDS[name] });
    part.style.flexGrow = count;
    return part;
  });
  update(byId("states-bar"), parts);
  const entries = present.map(([name, count]) =>
    element("li", {}, element("span", { class: "mark", "data-kind": KINDS[name] }, link("plugins", { find: name }, name)), " ", number(count)),
  );
  update(byId("states"), entries.length > 0 ? entries : [element("li", { class: "muted" }, "There are no plugins.")]);
}

/** Notes how much was done, whatever view is shown. */
export function note() {
  if (state.host) rate.note(state.host.totals.calls);
}

/** Draws the view. */
export function draw() {
  const { host } = state;
  if (!host) return;
  TOTALS.forEach(([, value, whole], index) => {
    put(tiles[index].value, value(host));
    const all = whole?.(host);
    put(tiles[index].whole, all ? `of ${all}` : "");
  });
  put(byId("role"), host.election ? role(host.election) : "");
  byId("role").hidden = !host.election;
  rate.draw();
  drawStates();
  const problems = [...items(host.unready, "bad"), ...items(host.degraded, "warn")];
  if (problems.length === 0) problems.push(element("li", { class: "none" }, "None."));
  update(byId("problems"), problems);
}
