// One object: found by a part of its key, and what each stage decided about it.

import { byId, clock, element, facts, link, number, put, update } from "./dom.js";
import { state } from "./live.js";
import { read } from "./request.js";

const resource = byId("explain-gvr");
const text = byId("explain-text");
let asked = 0;
/** The resource and the key of the object that is explained. */
let wanted = "";
let key = null;
let resources = "";

resource.addEventListener("change", find);
text.addEventListener("input", find);
byId("explain-form").addEventListener("submit", (event) => {
  event.preventDefault();
  byId("explain-found").querySelector("a")?.click();
});

/** The resources for the field. */
export function drawResources() {
  const next = [...new Set([...state.informers.values()].map((row) => row.gvr))].sort();
  if (next.join() === resources) return;
  resources = next.join();
  const chosen = resource.value || wanted;
  resource.replaceChildren(...next.map((gvr) => element("option", { value: gvr, selected: gvr === chosen }, gvr)));
  if (!byId("view-explain").hidden) find();
}

/** Opens the view, for one object if the address names one. */
export function open(query) {
  wanted = query.get("gvr") ?? resource.value;
  key = query.get("key");
  if (wanted) resource.value = wanted;
  refresh();
  find();
}

/** Reads again what each stage decided about the object. */
export function refresh() {
  if (key !== null) explain(wanted, key);
}

async function find() {
  const request = ++asked;
  const gvr = resource.value;
  if (!gvr) return;
  try {
    const found = await read("/page/objects", { gvr, text: text.value.trim() });
    if (request !== asked) return;
    const some = found.matching > found.keys.length;
    put(byId("explain-count"), some ? `first ${found.keys.length} of ${number(found.matching)}` : `${number(found.matching)} found`);
    update(byId("explain-found"), found.keys.map((one) => entry(gvr, one)));
  } catch (error) {
    put(byId("explain-count"), error.message);
    byId("explain-found").replaceChildren();
  }
}

function entry(gvr, one) {
  const made = link("explain", { gvr, key: one }, one);
  if (one === key) made.setAttribute("aria-current", "true");
  return element("li", {}, made);
}

async function explain(gvr, one) {
  const place = byId("explain-answer");
  try {
    const answer = await read("/explain", { gvr, key: one });
    if (gvr === wanted && one === key) update(place, parts(answer));
  } catch (error) {
    if (gvr === wanted && one === key) update(place, [element("p", { class: "notice" }, error.message)]);
  }
}

function parts(answer) {
  const standings = answer.plugins.map((one) => [link("plugin", { name: one.plugin }, one.plugin), one.stands]);
  const made = [
    element("h3", {}, `${answer.gvr} ${answer.key}`),
    facts([["Cache", answer.cache], ["Version", answer.version], ["UID", answer.uid], ["Watch", answer.watch]]),
    element("h3", {}, "Plugins"),
    standings.length > 0 ? facts(standings) : element("p", { class: "muted" }, "It concerns no plugin."),
    element("h3", {}, "Steps"),
  ];
  if (answer["no-steps"]) return [...made, element("p", { class: "muted" }, answer["no-steps"])];
  const head = ["Time", "Stage", "Plugin", "Decision"].map((title) => element("th", { scope: "col" }, title));
  const rows = answer.steps.map((step) =>
    element(
      "tr",
      {},
      element("td", {}, clock(step.at)),
      element("td", {}, step.stage),
      element("td", {}, step.plugin ?? ""),
      element("td", { title: step.verdict }, step.detail || step.verdict),
    ),
  );
  const table = element("table", { class: "steps" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return [...made, element("div", { class: "scroll" }, table)];
}
