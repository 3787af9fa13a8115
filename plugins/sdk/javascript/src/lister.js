/**
 * Reads of the host's cache. The host keeps one cache for all plugins. A read sends no request to the API server, so it is cheap.
 * The cache is never older than the notification of the current call. Each resource needs the grant `read`.
 *
 * Lists are iterators that fetch page by page. Use them up within the call: the host forgets the pages when the call returns.
 *
 * @module
 */

import * as host from "informer:plugin/lister@0.2.0";

import { call, count, milliseconds, text } from "./errors.js";
import { ObjectMeta, keyOf, texts, value } from "./object.js";

/** @import { ObjectKey, ObjectName, Resource } from "./object.js" */

/**
 * Selects objects. All conditions must hold.
 *
 * - `namespace`: only objects of this namespace. An empty one selects all, and needs a grant without a namespace.
 * - `labels`: a Kubernetes label selector, like `app=web,tier!=cache`.
 * - `index`: the name of an index of the watch, and the value.
 * - `pageSize`: the objects of a page; the host decides without it.
 *
 * @typedef {{ namespace?: string, labels?: string, index?: [string, string], pageSize?: number }} Selector
 */

/**
 * What a cache holds, and how old that may be.
 *
 * - `synced`: true if the first list of the resource is in the cache. Until then, lists are incomplete.
 * - `resourceVersion`: the version that the cache has reached. It is empty before the first list, and if the host watches several
 *   namespaces whose versions have no order.
 * - `ageMs`: the milliseconds since the API server last sent a list, an event or a bookmark; `undefined` before the first list. A healthy
 *   watch receives a bookmark about once a minute.
 *
 * @typedef {{ synced: boolean, resourceVersion: string, ageMs: number | undefined }} CacheState
 */

/**
 * The object as it is in the cache; `undefined` if there is none.
 *
 * @param {string} gvr the resource, for example `apps/v1/deployments`
 * @param {ObjectName} name
 * @returns {Resource | undefined}
 */
export function get(gvr, name) {
  return value(call(() => host.get(text(gvr, "gvr"), keyOf(name))));
}

/**
 * The values at JSON pointers in the order of the pointers, each `undefined` if there is none. Returns `undefined` if there is no
 * such object.
 *
 * @param {string} gvr
 * @param {ObjectName} name
 * @param {string[]} pointers
 * @returns {any[] | undefined}
 */
export function getFields(gvr, name, pointers) {
  const fields = call(() => host.getFields(text(gvr, "gvr"), keyOf(name), texts(pointers)));
  return fields?.map(value);
}

/**
 * The objects of a resource, parsed.
 *
 * @param {string} gvr
 * @param {Selector} [selector]
 * @returns {Generator<Resource, void, void>}
 */
export function* list(gvr, selector) {
  for (const json of pages(selector, (of, part) => host.listJson(text(gvr, "gvr"), of, part))) yield JSON.parse(json);
}

/**
 * The metadata of the objects of a resource.
 *
 * @param {string} gvr
 * @param {Selector} [selector]
 * @returns {Generator<ObjectMeta, void, void>}
 */
export function* listMeta(gvr, selector) {
  for (const meta of pages(selector, (of, part) => host.listMeta(text(gvr, "gvr"), of, part))) yield new ObjectMeta(meta);
}

/**
 * The values at JSON pointers of the objects of a resource, each `undefined` if there is none. Nothing else is parsed.
 *
 * @param {string} gvr
 * @param {string[]} pointers
 * @param {Selector} [selector]
 * @returns {Generator<{ key: ObjectKey, values: any[] }, void, void>}
 */
export function* listFields(gvr, pointers, selector) {
  const wanted = texts(pointers);
  for (const { key, values } of pages(selector, (of, part) => host.listFields(text(gvr, "gvr"), of, wanted, part))) {
    yield { key, values: values.map(value) };
  }
}

/**
 * The values of an index of the watch, each with the number of objects that have it, in the order of their bytes. The index `namespace`
 * always exists. Only objects that the plugin may read count.
 *
 * Pages are not of one snapshot: values that come and go meanwhile may be missing or present.
 *
 * @param {string} gvr
 * @param {string} index
 * @param {{ namespace?: string, pageSize?: number }} [options] the namespace of the objects, and the values of a page
 * @returns {Generator<{ value: string, objects: number }, void, void>}
 */
export function* indexValues(gvr, index, { namespace, pageSize = 0 } = {}) {
  const place = namespace === undefined ? null : text(namespace, "namespace");
  const limit = count(pageSize, "pageSize");
  /** @type {string | null} */
  let after = null;
  while (true) {
    const page = call(() => host.indexValues(text(gvr, "gvr"), text(index, "index"), place, after, limit));
    if (page.length === 0) return;
    yield* page;
    after = page[page.length - 1].value;
  }
}

/**
 * What the cache of a resource holds, and how old that may be. Use it before a decision that an old state would make wrong.
 *
 * @param {string} gvr
 * @returns {CacheState}
 */
export function state(gvr) {
  const { synced, resourceVersion, ageMs } = call(() => host.state(text(gvr, "gvr")));
  return { synced, resourceVersion, ageMs: ageMs ?? undefined };
}

/**
 * Returns true once the cache holds all objects of the resource.
 *
 * @param {string} gvr
 */
export function hasSynced(gvr) {
  return call(() => host.hasSynced(text(gvr, "gvr")));
}

/**
 * Waits until the cache is at least as new as a resource version, for example the version of a write. Returns false if the wait takes
 * longer than the time.
 *
 * @param {string} gvr
 * @param {string} resourceVersion
 * @param {{ namespace?: string, millis?: number }} [options] the namespace of the object, and the longest time to wait: 1000 by default
 */
export function waitUntil(gvr, resourceVersion, { namespace, millis = 1000 } = {}) {
  const place = namespace === undefined ? null : text(namespace, "namespace");
  const version = text(resourceVersion, "resourceVersion");
  return call(() => host.waitUntil(text(gvr, "gvr"), place, version, milliseconds(millis, "millis")));
}

/**
 * @template T
 * @param {Selector | undefined} selector
 * @param {(of: { namespace: string | null, labels: string, index: [string, string] | null },
 *   part: { limit: number, token: string | null }) => { items: T[], next: string | null }} fetch
 * @returns {Generator<T, void, void>}
 */
function* pages(selector, fetch) {
  const { namespace, labels = "", index, pageSize = 0 } = selector ?? {};
  const of = {
    namespace: namespace === undefined ? null : text(namespace, "namespace"),
    labels: text(labels, "labels"),
    index: index === undefined ? null : /** @type {[string, string]} */ ([text(index[0], "index"), text(index[1], "index")]),
  };
  const limit = count(pageSize, "pageSize");
  /** @type {string | null} */
  let token = null;
  do {
    const page = call(() => fetch(of, { limit, token }));
    yield* page.items;
    token = page.next ?? null;
  } while (token !== null);
}
