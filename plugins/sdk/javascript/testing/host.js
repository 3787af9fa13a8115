// A fake of the host for unit tests in Node.js: a cluster whose cache is always up to date, a log, key-values, timers and a workqueue.

import { Cluster, api, at, differsAt, keyText, refusal, wireMeta } from "./cluster.js";
import { interfaces as http } from "./http.js";
import { stringify } from "../src/json.js";
import { forget } from "../src/own_writes.js";

class FakeHost {
  constructor() {
    this.reset();
  }

  /** Forgets everything, and the plugin forgets its own writes (`isOwnWrite`). */
  reset() {
    forget();
    /** The log: `{ level, message, fields }`. */
    this.lines = [];
    this.cluster = new Cluster();
    /** The Events that were recorded. */
    this.events = [];
    /** What `wasi:config` has. */
    this.config = {};
    /** Name to key to bytes. */
    this.buckets = new Map();
    this.metrics = [];
    /**
     * The keys that were added to the workqueue: `{ key, millis }`, or `{ key, limited: true }` with a backoff. As in the queue of the
     * host, a key is ready once and delayed once. A test takes a key with `host.keys.shift()`.
     */
    this.keys = [];
    /** The number of backoffs of each key since its last `forget`. */
    this.requeues = new Map();
    /** The milliseconds of each timer by its name, and those of each `callAgain`. */
    this.timers = new Map();
    this.again = [];
    /** The names of all calls of the interfaces, like `client.update`. */
    this.calls = [];
    /** The HTTP requests: `{ request, body }`, where the request is like `POST https://chat.example.com/hooks`. */
    this.requests = [];
    /**
     * The answers to HTTP requests: `{ status, headers, body, breaksOff }` by the request. One without an answer is denied. With
     * `breaksOff` the connection ends after the body, before the answer is complete.
     */
    this.answers = new Map();
    this.attempt = 1;
    this.refusals = new Map();
    this.tokens = new Map();
  }

  /** Puts an object into the cluster, and returns it with its new version. */
  put(gvr, object) {
    return this.cluster.put(gvr, object);
  }

  /**
   * The next calls of a function of the host, like `client.update` or `keyvalue.set`, are refused, each with one of the errors. Throws if
   * the host has no such function.
   */
  refuse(name, ...errors) {
    if (!FUNCTIONS.has(name)) throw new TypeError(`the fake host has no ${name}; it has ${[...FUNCTIONS].sort().join(", ")}`);
    this.refusals.set(name, errors);
  }

  /** Starts a plugin. Returns what it throws. */
  start({ plugin }, config = {}) {
    return outcome(() => plugin.start(JSON.stringify(config)));
  }

  /** Calls `onAdd`. Returns the failure, or `undefined`. */
  add({ handler }, gvr, object, cause = "live") {
    return this.#deliver(() => handler.onAdd(this.#event(gvr, object), cause));
  }

  /** Calls `onUpdate`. Returns the failure, or `undefined`. */
  update({ handler }, gvr, old, object, cause = "live") {
    return this.#deliver(() => handler.onUpdate(this.#event(gvr, old).id, this.#event(gvr, object), cause));
  }

  /** Calls `onDelete`. Returns the failure, or `undefined`. */
  delete({ handler }, gvr, object, finalStateKnown = true) {
    return this.#deliver(() => handler.onDelete(this.#event(gvr, object), finalStateKnown));
  }

  /** Calls `onBatch` with `{ verb, object, old, finalStateKnown, cause, attempt }` of one resource. Returns the outcomes. */
  batch({ batchHandler }, gvr, notifications) {
    let outcomes;
    const failure = this.#deliver(() => {
      outcomes = batchHandler.onBatch(notifications.map(({ verb = "added", object, old, ...others }) => ({
        verb,
        ...this.#event(gvr, object),
        old: old === undefined ? undefined : this.#event(gvr, old).id,
        finalStateKnown: true,
        cause: "live",
        attempt: 1,
        ...others,
      })));
    });
    return failure === undefined ? outcomes : { failure };
  }

  /** Calls `reconcile`. Returns `{ outcome }` or `{ failure }`. */
  reconcile({ reconciler }, key) {
    let result;
    const failure = this.#deliver(() => {
      result = reconciler.reconcile(key);
    });
    return failure === undefined ? { outcome: result } : { failure };
  }

  /** Calls `onSynced`. Returns the failure, or `undefined`. */
  synced({ syncHandler }, gvr) {
    return this.#deliver(() => syncHandler.onSynced(gvr, this.cluster.of(gvr).size, String(this.cluster.version)));
  }

  /** Calls `onTimer`; a timer of `timer.after` is over then. Returns the failure, or `undefined`. */
  fire({ timerHandler }, name) {
    this.timers.delete(name);
    return this.#deliver(() => timerHandler.onTimer(name));
  }

  /** Calls `onConfig`. Returns the failure, or `undefined`. */
  configure({ configHandler }, config) {
    return this.#deliver(() => configHandler.onConfig(JSON.stringify(config)));
  }

  #event(gvr, object) {
    const id = this.tokens.size + 1;
    this.tokens.set(id, structuredClone(object));
    return { gvr, meta: wireMeta(object), id };
  }

  #deliver(deliver) {
    try {
      return outcome(deliver);
    } finally {
      for (const id of this.tokens.keys()) this.tokens.set(id, undefined);
    }
  }

  object(id) {
    const found = this.tokens.get(id);
    if (found === undefined) throw refusal({ code: "stale-token", message: "the call has returned" });
    return found;
  }

  called(name) {
    this.calls.push(name);
    const error = this.refusals.get(name)?.shift();
    if (error !== undefined) throw error instanceof Error ? error : refusal(error);
  }
}

/** What a call of an export throws. An `Error` would be a trap of the engine, so that it fails the test. */
function outcome(exported) {
  try {
    exported();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Error) throw new Error("the call would trap", { cause: thrown });
    return thrown;
  }
}

/** The host of the tests. */
export const host = new FakeHost();

export { api, refusal };

const UNKNOWN_PAGE = "the page token is unknown";

const lister = {
  get: (gvr, key) => optional(gvr, key, stringified),
  getFields: (gvr, key, pointers) => optional(gvr, key, (object) => pointers.map((pointer) => at(object, pointer))),
  listMeta: (gvr, of, part) => page(gvr, of, part, wireMeta),
  listFields: (gvr, of, pointers, part) => page(gvr, of, part, (object) => {
    const { namespace = "", name } = object.metadata;
    return { key: { namespace, name }, values: pointers.map((pointer) => at(object, pointer)) };
  }),
  listJson: (gvr, of, part) => page(gvr, of, part, stringified),
  hasSynced: () => true,
  indexValues(gvr, index, namespace, after, limit) {
    if (index !== "namespace") throw refusal({ code: "invalid", message: "the fake host has no index but `namespace`" });
    const objects = [...host.cluster.of(gvr).values()].map(({ metadata }) => metadata.namespace ?? "");
    const values = [...new Set(objects)].filter((value) => (after === null || value > after) && (namespace ?? value) === value).sort();
    const counted = values.map((value) => ({ value, objects: objects.filter((other) => other === value).length }));
    return counted.slice(0, limit === 0 ? 500 : limit);
  },
  state: () => ({ synced: true, resourceVersion: String(host.cluster.version), ageMs: 0 }),
  waitUntil: () => true,
};

const objects = {
  meta: (id) => wireMeta(host.object(id)),
  json: (id) => stringify(host.object(id)),
  get: (id, pointer) => at(host.object(id), pointer),
  getMany: (id, pointers) => pointers.map((pointer) => at(host.object(id), pointer)),
  differs: (old, now, pointers) => pointers.some((pointer) => differsAt(host.object(old), host.object(now), pointer)),
};

const client = {
  get: (gvr, key) => stringify(host.cluster.find(gvr, key)),
  listObjects(gvr, { limit, token, ...of }) {
    const refused = (message) => api("invalid", message, 400);
    const { objects, next } = host.cluster.page(gvr, of, limit, token, refused, api("gone", UNKNOWN_PAGE, 410));
    return { items: objects.map(stringified), next, resourceVersion: String(host.cluster.version) };
  },
  create: (gvr, namespace, object, options) => stringify(host.cluster.create(gvr, namespace, object, options)),
  update: (gvr, key, object, options) => stringify(host.cluster.update(gvr, key, object, options)),
  patch: (gvr, key, kind, body, options) => stringify(host.cluster.patch(gvr, key, kind, body, options)),
  deleteObject: (gvr, key, options) => host.cluster.delete(gvr, key, options),
  recordEvent: (event) => void host.events.push(event),
};

const log = {
  enabled: () => true,
  write: (level, message, fields) => void host.lines.push({ level, message, fields: Object.fromEntries(fields) }),
};

const isReady = ({ millis }) => millis === 0;

const workqueue = {
  add: (key) => enqueue(isReady, { key, millis: 0 }),
  addAfter(key, millis) {
    if (millis === 0) return workqueue.add(key);
    const delayed = enqueue((entry) => entry.millis > 0, { key, millis });
    delayed.millis = Math.min(delayed.millis, millis);
  },
  addRateLimited(key) {
    host.requeues.set(key, workqueue.numRequeues(key) + 1);
    enqueue(({ limited }) => limited, { key, limited: true });
  },
  forget: (key) => void host.requeues.delete(key),
  numRequeues: (key) => host.requeues.get(key) ?? 0,
  length: () => host.keys.filter(isReady).length,
};

/** Adds an entry unless there is one of the same kind with the same key. Returns the entry of the queue. */
function enqueue(isKind, entry) {
  const kept = host.keys.find((other) => other.key === entry.key && isKind(other));
  if (kept === undefined) host.keys.push(entry);
  return kept ?? entry;
}

const timer = {
  after(name, millis) {
    if (name === "") throw refusal({ code: "invalid", message: "the name of a timer is empty" });
    host.timers.set(name, millis);
  },
  cancel: (name) => void host.timers.delete(name),
};

const metrics = Object.fromEntries(["counterAdd", "gaugeSet", "histogramObserve"].map((kind) => {
  const record = (name, labels, value) => void host.metrics.push({ kind, name, labels: Object.fromEntries(labels), value });
  return [kind, record];
}));

/** The functions that a test can refuse. */
const FUNCTIONS = new Set(["get", "set", "exists", "delete", "listKeys"].map((method) => `keyvalue.${method}`));

function open(name) {
  // A plugin keeps what it has opened over a `reset`.
  const values = () => {
    if (!host.buckets.has(name)) host.buckets.set(name, new Map());
    return host.buckets.get(name);
  };
  values();
  // The last key of each page that another page follows. As in the host, keys that are set or deleted meanwhile move no other key.
  const cursors = [];
  const functions = counted("keyvalue", {
    get: (key) => values().get(key) ?? null,
    set: (key, value) => void values().set(key, value),
    exists: (key) => values().has(key),
    delete: (key) => void values().delete(key),
    listKeys(cursor) {
      const last = cursor === null ? undefined : cursors[Number(cursor)];
      const behind = [...values().keys()].sort().filter((key) => last === undefined || key > last);
      const keys = behind.slice(0, 2);
      return { keys, cursor: keys.length < behind.length ? String(cursors.push(keys.at(-1)) - 1) : null };
    },
  });
  return { values, ...functions };
}

function increment({ values }, key, delta) {
  const kept = new TextDecoder().decode(values().get(key) ?? new Uint8Array([48]));
  const sum = /^\d+$/.test(kept) ? BigInt(kept) + BigInt(delta) : undefined;
  if (sum === undefined || sum >= 2n ** 64n) {
    const why = `the value of \`${key}\` cannot be incremented: the value or the sum is not a decimal number of 64 bits`;
    throw refusal({ tag: "other", val: why });
  }
  values().set(key, new TextEncoder().encode(String(sum)));
  return sum;
}

/** The interfaces of the host by the names of their modules. */
export const interfaces = {
  "informer:plugin/client@0.2.0": counted("client", client),
  "informer:plugin/delivery@0.2.0": counted("delivery", {
    callAgain: (millis) => void host.again.push(millis),
    current: () => ({ attempt: host.attempt, queuedMs: 0, plugin: "test", hostVersion: "0.1.0" }),
  }),
  "informer:plugin/lister@0.2.0": counted("lister", lister),
  "informer:plugin/log@0.2.0": log,
  "informer:plugin/metrics@0.2.0": counted("metrics", metrics),
  "informer:plugin/objects@0.2.0": counted("objects", objects),
  "informer:plugin/timer@0.2.0": counted("timer", timer),
  "informer:plugin/workqueue@0.2.0": counted("workqueue", workqueue),
  "wasi:config/store@0.2.0-rc.1": counted("config", {
    get: (name) => host.config[name] ?? null,
    getAll: () => Object.entries(host.config),
  }),
  "wasi:keyvalue/atomics@0.2.0-draft": counted("keyvalue", { increment }),
  "wasi:keyvalue/store@0.2.0-draft": counted("keyvalue", { open }),
  ...http((request, body) => {
    host.requests.push({ request, body });
    return host.answers.get(request);
  }),
};

/** Counts the calls, and refuses those that the test wants refused. */
function counted(name, functions) {
  const wrap = ([method, run]) => {
    FUNCTIONS.add(`${name}.${method}`);
    return [method, (...args) => {
      host.called(`${name}.${method}`);
      return run(...args);
    }];
  };
  return Object.fromEntries(Object.entries(functions).map(wrap));
}

/** For `map`, which passes more than the object. */
function stringified(object) {
  return stringify(object);
}

function optional(gvr, key, read) {
  const found = host.cluster.of(gvr).get(keyText(key));
  return found === undefined ? null : read(found);
}

function page(gvr, of, { limit, token }, read) {
  const refused = (message) => refusal({ code: "invalid", message });
  const lost = refusal({ code: "stale-page", message: UNKNOWN_PAGE });
  const { objects, next } = host.cluster.page(gvr, of, limit, token, refused, lost);
  return { items: objects.map(read), next };
}
