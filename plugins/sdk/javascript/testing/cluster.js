// The objects of the fake host, and what the API server does to them.

/** The objects of all resources, and their cache. */
export class Cluster {
  constructor() {
    this.version = 1;
    /** Resource to key to object. */
    this.resources = new Map();
  }

  of(gvr) {
    if (!this.resources.has(gvr)) this.resources.set(gvr, new Map());
    return this.resources.get(gvr);
  }

  /** Keeps an object under a new version, and returns the copy. */
  put(gvr, object) {
    const kept = structuredClone(object);
    this.version += 1;
    kept.metadata.resourceVersion = String(this.version);
    kept.metadata.uid ??= `uid-${this.version}`;
    this.of(gvr).set(keyText(kept.metadata), kept);
    return kept;
  }

  find(gvr, key) {
    const found = this.of(gvr).get(keyText(key));
    if (found === undefined) throw api("not-found", `${gvr} ${keyText(key)} is not found`, 404);
    return found;
  }

  create(gvr, namespace, json) {
    const object = JSON.parse(json);
    if (namespace !== "") object.metadata.namespace = namespace;
    const key = keyText(object.metadata);
    if (this.of(gvr).has(key)) throw api("already-exists", `${gvr} ${key} exists`, 409);
    return this.put(gvr, object);
  }

  update(gvr, key, json) {
    const found = this.find(gvr, key);
    const object = JSON.parse(json);
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== found.metadata.resourceVersion) {
      throw api("conflict", `${gvr} ${keyText(key)} has changed`, 409);
    }
    if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
      this.of(gvr).delete(keyText(key));
      return object;
    }
    return this.put(gvr, object);
  }

  patch(gvr, key, kind, json) {
    const body = JSON.parse(json);
    if (kind === "apply") {
      const found = this.of(gvr).get(keyText(key));
      return this.put(gvr, found === undefined ? body : merged(found, body));
    }
    if (kind !== "merge") throw api("invalid", `the fake host has no patch of the kind ${kind}`, 400);
    return this.put(gvr, merged(this.find(gvr, key), body));
  }

  delete(gvr, key, { uid, resourceVersion }) {
    const found = this.find(gvr, key);
    const { metadata } = found;
    if ((uid ?? metadata.uid) !== metadata.uid || (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion) {
      throw api("conflict", "a precondition does not hold", 409);
    }
    if ((metadata.finalizers ?? []).length === 0) this.of(gvr).delete(keyText(key));
    else this.put(gvr, { ...found, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
  }

  /** The objects of a page, and the token of the next one. */
  page(gvr, { namespace, labels }, limit, token) {
    const wanted = labels === "" ? [] : labels.split(",").map((label) => label.split("="));
    const all = [...this.of(gvr).values()].filter(({ metadata }) => {
      const fits = wanted.every(([name, value]) => metadata.labels?.[name] === value);
      return fits && (namespace === null || metadata.namespace === namespace);
    });
    const start = token === null ? 0 : Number(token);
    const end = start + (limit === 0 ? 500 : limit);
    return { objects: all.slice(start, end), next: end < all.length ? String(end) : null };
  }
}

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
  let found = object;
  for (const part of pointer.split("/").slice(1)) {
    found = found?.[part.replaceAll("~1", "/").replaceAll("~0", "~")];
    if (found === undefined) return null;
  }
  return JSON.stringify(found);
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
