// The page: which view is shown, the keys, and what is drawn after each event.

import * as configuration from "./configuration.js";
import { byId, put } from "./dom.js";
import * as explain from "./explain.js";
import * as informers from "./informers.js";
import * as letters from "./letters.js";
import { connect, onChange, state } from "./live.js";
import * as log from "./log.js";
import * as overview from "./overview.js";
import * as plugins from "./plugins.js";

/** Each view: what opens it, and what an event changes in it. */
const VIEWS = {
  overview: { open: overview.draw, event: overview.draw },
  informers: { open: informers.draw, event: (changed) => changed.informers && informers.draw() },
  plugins: { open: plugins.openAll, event: (changed) => changed.plugins && plugins.draw() },
  plugin: { open: plugins.open, event: (changed) => changed.plugins && plugins.detail(), within: "plugins" },
  letters: { open: letters.open, event: (changed) => changed.plugins && letters.refresh() },
  explain: { open: explain.open, event: (changed) => (changed.informers || changed.plugins) && explain.refresh() },
  log: { open: log.open, event: (changed) => changed.host && log.load() },
  configuration: { open: configuration.open, event: reloaded },
};

const links = [...document.querySelectorAll("nav a")];
let current = "overview";
/** The address that the view is shown for. */
let shown = null;
let reloads = null;

function reloaded() {
  if (state.host && state.host.reloads !== reloads) {
    reloads = state.host.reloads;
    configuration.load();
  }
}

/** Shows the view of the address, unless it is shown. */
function show() {
  if (location.hash === shown) return;
  shown = location.hash;
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  current = Object.hasOwn(VIEWS, name) ? name : "overview";
  for (const view of Object.keys(VIEWS)) byId(`view-${view}`).hidden = view !== current;
  for (const one of links) {
    const own = one.hash === `#${VIEWS[current].within ?? current}`;
    if (own) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
    if (own) one.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.title = `${links.find((one) => one.hasAttribute("aria-current"))?.textContent} - informer`;
  VIEWS[current].open(new URLSearchParams(query ?? ""));
}

function frame() {
  const [text, kind] = state.host ? overview.verdict(state.host) : ["Connecting", "quiet"];
  const known = state.connected || !state.host;
  mark(byId("state"), known ? text : `Last state: ${text}`, known ? kind : "quiet");
  mark(byId("connection"), state.connected ? "live" : (state.refused ?? "not live"), state.connected ? "good" : "bad");
  put(byId("version"), state.host?.version);
}

function mark(node, text, kind) {
  put(node, text);
  if (node.dataset.kind !== kind) node.dataset.kind = kind;
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape" && typing) {
    typing.blur();
    byId("main").focus();
  }
  if (typing) return;
  const view = links[Number(event.key) - 1];
  const search = byId(`view-${current}`).querySelector('[aria-keyshortcuts="/"]');
  if (view) {
    location.hash = view.hash;
    // The event of the new address comes later, and the next key may come before it.
    show();
    byId("main").focus();
  } else if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "?") {
    byId("keys").showModal();
  }
}

for (const form of document.querySelectorAll("main form")) form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", key);
byId("help").addEventListener("click", () => byId("keys").showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", show);
onChange((changed) => {
  frame();
  overview.note();
  if (changed.plugins) letters.drawNames();
  if (changed.informers) explain.drawResources();
  VIEWS[current].event(changed);
});
show();
connect();
