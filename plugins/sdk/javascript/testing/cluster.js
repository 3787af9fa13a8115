// The objects of the fake host, and what the API server does to them.

import { rewritten, stringify } from "../src/json.js";

/** The fields of the metadata that a write does not change. */
const OF_SERVER = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"];

/** The objects of all resources, and their cache. */
export class Cluster {
  constructor() {
    this.version = 1;
    /** Resource to key to object. */
    this.resources = new Map();
    /** The objects behind each page of a list, by the token of the next page. */
    this.lists = new Map();
  }

  of(gvr) {
    if (!this.resources.has(gvr)) this.resources.set(gvr, new Map());
    return this.resources.get(gvr);
  }

  /** Keeps a copy of an object under a new version, and returns another copy. */
  put(gvr, object) {
    const kept = structuredClone(object);
    this.version += 1;
    kept.metadata.resourceVersion = String(this.version);
    kept.metadata.uid ??= `uid-${this.version}`;
    this.of(gvr).set(keyText(kept.metadata), kept);
    return structuredClone(kept);
  }

  find(gvr, key) {
    const found = this.of(gvr).get(keyText(key));
    if (found === undefined) throw api("not-found", `${gvr} ${keyText(key)} is not found`, 404);
    return found;
  }

  create(gvr, namespace, json, { dryRun = false } = {}) {
    const object = parse(json);
    if (differs(object.metadata.resourceVersion, "")) throw api("invalid", "resourceVersion should not be set on objects to be created", 400);
    if (namespace !== "") object.metadata.namespace = namespace;
    object.metadata.name = this.#nameOfNew(object.metadata);
    const key = keyText(object.metadata);
    if (this.of(gvr).has(key)) throw api("already-exists", `${gvr} ${key} exists`, 409);
    return this.#make(gvr, object, dryRun);
  }

  /** The name of a new object. If the object has none, its name begins with `generateName`. */
  #nameOfNew({ name = "", generateName = "" }) {
    if (name !== "") return name;
    if (generateName === "") throw api("invalid", "metadata.name: Required value: name or generateName is required", 422);
    return generateName + String(this.version + 1).padStart(5, "0");
  }

  /** Keeps a new object. Its UID is new, and the other fields that only the server writes are removed. */
  #make(gvr, object, dryRun) {
    for (const field of OF_SERVER) delete object.metadata[field];
    object.metadata.uid = `uid-${this.version + 1}`;
    return dryRun ? object : this.put(gvr, object);
  }

  update(gvr, key, json, { dryRun = false } = {}) {
    const found = this.find(gvr, key);
    const object = parse(json);
    expects(found, object.metadata);
    return this.#replace(gvr, found, object, dryRun);
  }

  patch(gvr, key, kind, json, { dryRun = false } = {}) {
    if (kind !== "merge" && kind !== "apply") throw api("invalid", `the fake host has no patch of the kind ${kind}`, 400);
    const body = parse(json);
    if (kind === "apply" && !this.of(gvr).has(keyText(key))) return this.#make(gvr, body, dryRun);
    const found = this.find(gvr, key);
    const { uid, resourceVersion } = body.metadata ?? {};
    expects(found, { resourceVersion });
    if (differs(uid, found.metadata.uid)) throw api("invalid", "metadata.uid: field is immutable", 422);
    return this.#replace(gvr, found, merged(found, body), dryRun);
  }

  /**
   * Puts an object in the place of another one. The fields of the server stay as they are. If an object is being deleted, the removal of
   * its last finalizer removes the object. An object that is being deleted and had no finalizer stays: a pod, for example, waits for the
   * kubelet.
   */
  #replace(gvr, found, object, dryRun) {
    const metadata = { ...object.metadata };
    for (const name of OF_SERVER) {
      if (found.metadata[name] === undefined) delete metadata[name];
      else metadata[name] = found.metadata[name];
    }
    if (dryRun) return { ...object, metadata };
    const ends = metadata.deletionTimestamp !== undefined && hasFinalizers(found) && !hasFinalizers({ metadata });
    if (!ends) return this.put(gvr, { ...object, metadata });
    this.of(gvr).delete(keyText(metadata));
    return object;
  }

  delete(gvr, key, { uid, resourceVersion, dryRun = false }) {
    const found = this.find(gvr, key);
    const { metadata } = found;
    expects(found, { uid, resourceVersion });
    if (dryRun) return;
    if (!hasFinalizers(found)) this.of(gvr).delete(keyText(key));
    else this.put(gvr, { ...found, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
  }

  /**
   * The objects of a page, sorted by namespace and name, and the token of the next one. As in the host, all pages of a list come from one
   * snapshot. `refused` makes the error for a selector that the fake host does not know. `lost` is the error for an unknown page.
   */
  page(gvr, selector, limit, token, refused, lost) {
    const rest = token === null ? this.#selected(gvr, selector, refused) : this.lists.get(token);
    if (rest === undefined) throw lost;
    const end = limit === 0 ? 500 : limit;
    if (rest.length <= end) return { objects: rest, next: null };
    const next = String(this.lists.size + 1);
    this.lists.set(next, rest.slice(end));
    return { objects: rest.slice(0, end), next };
  }

  /** The objects that a list selects. An empty namespace selects all, as in the host. */
  #selected(gvr, { namespace, labels, fields = "", index = null }, refused) {
    if (fields !== "") throw refused("the fake host has no field selectors");
    const [name, place] = index ?? ["namespace"];
    if (name !== "namespace") throw refused("the fake host has no index but `namespace`");
    const wanted = requirements(labels, refused);
    const all = [...this.of(gvr).values()].filter(({ metadata }) => {
      const own = metadata.namespace ?? "";
      const fits = wanted.every(([label, value]) => metadata.labels?.[label] === value);
      return fits && (namespace || own) === own && (place ?? own) === own;
    });
    const order = ({ metadata }) => `${metadata.namespace ?? ""}\0${metadata.name}`;
    return all.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }
}

/** The labels and values of a selector like `a=b,c=d`. */
function requirements(labels, refused) {
  return labels.split(",").filter((requirement) => requirement !== "").map((requirement) => {
    const [, label, value] = /^([^=!() ]+)==?([^=!() ]*)$/.exec(requirement) ?? [];
    if (label === undefined) throw refused("the fake host knows only label selectors like a=b,c=d");
    return [label, value];
  });
}

function hasFinalizers({ metadata }) {
  return (metadata.finalizers ?? []).length > 0;
}

/** Refuses a write to another object, or to another version, than the one that the request expects. */
function expects({ metadata }, { uid, resourceVersion }) {
  if (differs(uid, metadata.uid)) throw api("conflict", `${keyText(metadata)} has another UID`, 409);
  if (differs(resourceVersion, metadata.resourceVersion)) throw api("conflict", `${keyText(metadata)} has changed`, 409);
}

/** Returns true if a request expects another value than the object has. An empty value expects none. */
function differs(expected, found) {
  return expected !== undefined && expected !== null && expected !== "" && expected !== found;
}

/** Parses an object. A whole number that JavaScript would round becomes a `bigint`, which `stringify` writes as it was. */
function parse(json) {
  const exact = (source) => (Math.abs(Number(source)) <= Number.MAX_SAFE_INTEGER ? source : `{"${LARGE}":"${source}"}`);
  const whole = (source) => BigInt(/^-?\d+$/.test(source) ? source : Number(source));
  const large = (_, value) => (typeof value?.[LARGE] === "string" ? whole(value[LARGE]) : value);
  return JSON.parse(rewritten(json, exact, (string) => string), large);
}

const LARGE = "a large number of the fake host";

/** What a refused request throws: an `Error` with the record of the interface. */
export function api(code, message, status, retryAfterMs = null) {
  return refusal({ code, message, status, retryAfterMs });
}

/** What the engine throws for the error of a host call. */
export function refusal(payload) {
  return Object.assign(new Error("host error"), { payload });
}

export function keyText({ namespace = "", name }) {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** The value at a JSON pointer as text, or `null`. */
export function at(object, pointer) {
  const found = valueAt(object, pointer);
  return found === undefined ? null : stringify(found);
}

/** Returns true if the values at a JSON pointer differ. As in the host, the order of keys is no difference. */
export function differsAt(old, now, pointer) {
  const [before, after] = [old, now].map((object) => at({ value: ordered(valueAt(object, pointer)) }, "/value"));
  return before !== after;
}

/** The value at a JSON pointer, or `undefined`. */
function valueAt(object, pointer) {
  if (pointer !== "" && !pointer.startsWith("/")) {
    const message = `the pointer \`${pointer}\` does not begin with \`/\`; the fake host has no digests`;
    throw refusal({ code: "invalid", message });
  }
  let found = object;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    // An array has a length, and no value at `/length`.
    if (Array.isArray(found) && !/^\d+$/.test(name)) return undefined;
    found = found[name];
  }
  return found;
}

/** A copy whose keys are sorted. */
function ordered(value) {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, ordered(value[name])]));
}

/** The record `object-meta` of an object. */
export function wireMeta({ metadata }) {
  const { namespace = "", name, uid = "", resourceVersion = "", creationTimestamp = "", labels = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller);
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    creationTimestamp,
    deleting: metadata.deletionTimestamp !== undefined,
    labels: Object.entries(labels),
    controller: owner === undefined ? null : { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid },
  };
}

/** RFC 7386. */
function merged(target, patch) {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = target !== null && typeof target === "object" && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}
