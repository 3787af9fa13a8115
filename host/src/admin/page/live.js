// What the host sends by itself: its state in rows, of which each event has those that changed.

/** The state at present. `host` is null before the first event; `refused` is why the host sends nothing. */
export const state = { host: null, informers: new Map(), plugins: new Map(), connected: false, refused: null, starts: 0 };

/** The time after which a refused page tries again. */
const AGAIN = 5000;
/** The time after which a silent host counts as gone. A host without news sends the event `quiet` every ten seconds. */
const SILENT = 30000;

const listeners = [];
let source = null;
let trying = 0;
let silence = 0;

/** Calls `listener` after each event with what it changed: { host, informers, plugins, connected }. */
export function onChange(listener) {
  listeners.push(listener);
}

function notify(changed) {
  for (const listener of listeners) listener(changed);
}

function merge(rows, changed, name) {
  for (const gone of changed.gone) rows.delete(gone);
  for (const row of changed.rows) rows.set(row[name], row);
}

/** Waits for the next event from now on. A host that hangs sends none, and its connection stays open. */
function heard() {
  clearTimeout(silence);
  silence = setTimeout(silent, SILENT);
}

function silent() {
  close();
  lost(null);
  open();
}

function received(event) {
  heard();
  const next = JSON.parse(event.data);
  if (next.all) {
    state.informers.clear();
    state.plugins.clear();
    state.starts += 1;
  }
  if (next.host) state.host = next.host;
  if (next.informers) merge(state.informers, next.informers, "id");
  if (next.plugins) merge(state.plugins, next.plugins, "name");
  const connected = !state.connected;
  state.connected = true;
  state.refused = null;
  notify({
    connected,
    host: Boolean(next.host),
    informers: next.all || Boolean(next.informers),
    plugins: next.all || Boolean(next.plugins),
  });
}

function lost(refused) {
  state.connected = false;
  state.refused = refused;
  notify({ connected: true });
}

/** The reason of the host for a refusal. An EventSource does not show it. */
async function refusal() {
  const stop = new AbortController();
  try {
    const response = await fetch("/page/live", { signal: stop.signal });
    return response.ok ? null : (await response.json()).error;
  } catch {
    return null;
  } finally {
    stop.abort();
  }
}

async function failed() {
  const own = source;
  lost(null);
  // After other failures the browser tries again by itself.
  if (own?.readyState !== EventSource.CLOSED) return;
  const refused = await refusal();
  if (own !== source) return;
  lost(refused);
  trying = setTimeout(open, AGAIN);
}

function open() {
  source = new EventSource("/page/live");
  source.onmessage = received;
  source.addEventListener("quiet", heard);
  source.onerror = failed;
  heard();
}

function close() {
  clearTimeout(trying);
  clearTimeout(silence);
  source?.close();
  source = null;
}

/** Connects, and connects again if the host was gone. A page that is not visible gives its place to another one. */
export function connect() {
  if (!document.hidden) open();
  document.addEventListener("visibilitychange", () => {
    close();
    if (!document.hidden) open();
  });
}
