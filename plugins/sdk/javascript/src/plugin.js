// The exports of a plugin.

import { answers } from "./batch.js";
import { delivery } from "./delivery.js";
import { PermanentError, milliseconds, settled } from "./errors.js";
import { describe, failure, retryAfter } from "./failure.js";
import { begin, warn } from "./log.js";
import { KubeObject, before } from "./object.js";
import { isOwnWrite } from "./own_writes.js";

/** @import { Notification, Outcome } from "./batch.js" */
/** @import { Cause } from "./object.js" */

/**
 * The result of `reconcile`: nothing if the key is done, or the time at which the host reconciles it again. The longest `requeueAfter` is
 * about 24.8 days.
 * @typedef {void | undefined | { requeue: true } | { requeueAfter: number }} Reconciled
 */

/**
 * The cache of a subscription is complete, and its objects have been delivered, also if there are none.
 *
 * - `gvr`: the resource, for example `apps/v1/deployments`.
 * - `count`: the number of objects that the subscription selected when its cache was complete.
 * - `resourceVersion`: the version of the collection that the cache had reached. It is empty if the host watches several namespaces whose
 *   versions have no order.
 *
 * @typedef {{ gvr: string, count: number, resourceVersion: string }} Synced
 */

/**
 * The functions of a plugin. All of them are optional and synchronous. If a handler throws, the call has failed, and the host delivers the
 * notification again after a backoff. Throw a `PermanentError` for a dead letter, or a `RetryAfterError` to choose the time.
 *
 * @typedef {object} Definition
 * @property {string} [name] the name that the host shows beside that of the configuration
 * @property {string} [version] the version of the plugin
 * @property {(config: any) => void} [start] is called once before anything else, with `[plugin.config]`. If it throws, the plugin does not
 *   start
 * @property {() => void} [stop] is called before the instance ends, if there is time for it
 * @property {(object: KubeObject, cause: Cause) => void} [onAdd] an object is new
 * @property {(old: KubeObject, object: KubeObject, cause: Cause) => void} [onUpdate] an object has changed, or is delivered again
 * @property {(object: KubeObject, finalStateKnown: boolean) => void} [onDelete] an object is gone, with its last known state
 * @property {(notifications: Notification[]) => Outcome[]} [onBatch] several notifications in one call, instead of the three above. It returns
 *   one outcome for each, in their order. Export `batchHandler` instead of `handler`
 * @property {(key: string) => Reconciled} [reconcile] an object with this key has changed. The world of the plugin must export `reconciler`
 * @property {(synced: Synced) => void} [onSynced] the cache of a subscription is complete. Export `syncHandler` too
 * @property {(name: string) => void} [onTimer] a timer fires: one of `[[plugin.timer]]`, or one of `timer.after`. Export `timerHandler` too
 * @property {(config: any) => void} [onConfig] a file of `config-files` changed; `config` is what `start` would get now. The host calls it in
 *   one instance. Export `configHandler` too
 * @property {boolean} [ignoreOwnWrites] if true, `onUpdate` is not called for a version that this instance has written. It is called
 *   for a second attempt, and for the causes `resync` and `replay`, because an earlier attempt may have written the version and failed
 *   afterwards. A version that is left out may also contain a change of another client, which merged with the own change
 */

// Each interface that calls the plugin, with the functions behind it. An interface without any would do nothing.
const INTERFACES = {
  handler: ["onAdd", "onUpdate", "onDelete"],
  batchHandler: ["onBatch"],
  reconciler: ["reconcile"],
  syncHandler: ["onSynced"],
  timerHandler: ["onTimer"],
  configHandler: ["onConfig"],
};
const FUNCTIONS = ["start", "stop", ...Object.values(INTERFACES).flat()];
const OTHERS = ["name", "version", "ignoreOwnWrites"];
const SDK = "informer-sdk for JavaScript 0.1.0";

/**
 * Makes the exports of a plugin. The names that the world exports must be exported:
 *
 * ```js
 * export const { plugin, handler } = definePlugin({ onAdd(object) { console.log(`hello ${object.key}`); } });
 * ```
 *
 * A plugin with `onBatch` exports `batchHandler`, in the world `batch-event-handler` of informer-plugin.toml. A plugin exports
 * `syncHandler`, `timerHandler` and `configHandler` only if it has `onSynced`, `onTimer` and `onConfig`.
 *
 * @param {Definition} definition
 */
export function definePlugin(definition) {
  check(definition);
  const { name = "", version = "" } = definition;
  /**
   * An attempt may write and fail afterwards. The notification of the write merges into the failed one, which keeps its number of attempts:
   * only a first attempt has no work left.
   *
   * @param {KubeObject} object
   * @param {Cause} cause
   */
  const own = (object, cause) => {
    if (definition.ignoreOwnWrites !== true || (cause !== "live" && cause !== "relist")) return false;
    return isOwnWrite(object) && delivery().attempt === 1;
  };
  const made = {
    /** The interface `plugin`. */
    plugin: {
      describe: () => ({ name, version, sdk: SDK }),
      start(/** @type {string} */ config) {
        begin();
        try {
          settled(definition.start?.(parsed(config)), "start");
        } catch (thrown) {
          throw describe(thrown);
        }
      },
      stop() {
        try {
          definition.stop?.();
        } catch (thrown) {
          // The host does not repeat this call.
          warn("stop has failed", { error: describe(thrown) });
        }
      },
    },
    /** The interface `handler`. */
    handler: {
      onAdd: handling((/** @type {any} */ added, /** @type {Cause} */ cause) => {
        settled(definition.onAdd?.(of(added), cause), "onAdd");
      }),
      onUpdate: handling((/** @type {number} */ old, /** @type {any} */ updated, /** @type {Cause} */ cause) => {
        const object = of(updated);
        if (definition.onUpdate && !own(object, cause)) settled(definition.onUpdate(before(old), object, cause), "onUpdate");
      }),
      onDelete: handling((/** @type {any} */ deleted, /** @type {boolean} */ finalStateKnown) => {
        settled(definition.onDelete?.(of(deleted), finalStateKnown), "onDelete");
      }),
    },
    /** The interface `batch-handler`. */
    batchHandler: {
      onBatch(/** @type {any[]} */ notifications) {
        begin();
        return answers(notifications, (batch) => settled(definition.onBatch?.(batch) ?? [], "onBatch"));
      },
    },
    /** The interface `reconciler`. */
    reconciler: {
      reconcile(/** @type {string} */ key) {
        begin();
        try {
          return outcome(settled(definition.reconcile?.(key), "reconcile"));
        } catch (thrown) {
          return failed(key, thrown);
        }
      },
    },
    /** The interface `sync-handler`. */
    syncHandler: {
      onSynced: handling((/** @type {string} */ gvr, /** @type {number} */ count, /** @type {string} */ resourceVersion) => {
        settled(definition.onSynced?.({ gvr, count, resourceVersion }), "onSynced");
      }),
    },
    /** The interface `timer-handler`. */
    timerHandler: {
      onTimer: handling((/** @type {string} */ name) => settled(definition.onTimer?.(name), "onTimer")),
    },
    /** The interface `config-handler`. */
    configHandler: {
      onConfig: handling((/** @type {string} */ config) => settled(definition.onConfig?.(parsed(config)), "onConfig")),
    },
  };
  for (const [name, functions] of Object.entries(INTERFACES)) {
    if (functions.some((wanted) => definition[/** @type {keyof Definition} */ (wanted)] !== undefined)) continue;
    const problem = `definePlugin: \`${name}\` is exported, and there is no ${functions.join(", ")}`;
    Object.defineProperty(made, name, {
      get() {
        throw new TypeError(problem);
      },
    });
  }
  // The build reads this property, and refuses a function whose interface the plugin or its world does not export.
  const isDefined = (/** @type {string} */ name) => definition[/** @type {keyof Definition} */ (name)] !== undefined;
  const defined = Object.entries(INTERFACES).map(([name, functions]) => [name, functions.filter(isDefined)]);
  Object.defineProperty(made.plugin, "defined", { value: Object.fromEntries(defined.filter(([, functions]) => functions?.length)) });
  return made;
}

/** @param {string} config */
function parsed(config) {
  return config.trim() === "" ? {} : JSON.parse(config);
}

/** @param {Definition} definition */
function check(definition) {
  for (const [name, value] of Object.entries(definition)) {
    if (FUNCTIONS.includes(name)) {
      if (value === undefined) continue;
      if (typeof value !== "function") throw new TypeError(`definePlugin: ${name} is no function`);
      if (value.constructor.name.startsWith("Async")) throw new TypeError(`definePlugin: ${name} is async. ${SYNCHRONOUS}`);
      // A call of it returns at once and does nothing.
      if (value.constructor.name === "GeneratorFunction") {
        throw new TypeError(`definePlugin: ${name} is a generator. Remove \`*\` and \`yield\``);
      }
    } else if (!OTHERS.includes(name)) {
      throw new TypeError(`definePlugin: there is no \`${name}\`; there are ${[...FUNCTIONS, ...OTHERS].join(", ")}`);
    }
  }
  if (!["onAdd", "onUpdate", "onDelete", "onBatch", "reconcile"].some((name) => name in definition)) {
    throw new TypeError("definePlugin: one of onAdd, onUpdate, onDelete, onBatch and reconcile is needed");
  }
}

const SYNCHRONOUS = "Handlers are synchronous, because the host waits for each call: remove `async` and `await`";

/** @param {{ gvr: string, meta: any, id: number }} object */
function of({ gvr, meta, id }) {
  return new KubeObject(gvr, meta, id);
}

/**
 * Throws what the interface defines: a plain object. Any other exception would end the call with a trap.
 *
 * @template {unknown[]} A
 * @param {(...args: A) => void} handle
 * @returns {(...args: A) => void}
 */
function handling(handle) {
  return (...args) => {
    begin();
    try {
      handle(...args);
    } catch (thrown) {
      throw failure(thrown);
    }
  };
}

/**
 * @param {Reconciled} result
 * @returns {{ tag: "done" } | { tag: "requeue" } | { tag: "requeue-after", val: number }}
 */
function outcome(result) {
  if (result === undefined || result === null) return { tag: "done" };
  if (typeof result === "object" && "requeueAfter" in result) {
    const { requeueAfter } = result;
    if (typeof requeueAfter === "number" && requeueAfter >= 0) return after(requeueAfter);
  } else if (typeof result === "object" && result.requeue === true) {
    return { tag: "requeue" };
  }
  const returned = JSON.stringify(result);
  throw new PermanentError(`reconcile has returned ${returned}: return nothing, { requeue: true } or { requeueAfter: MILLISECONDS }`);
}

/**
 * @param {string} key
 * @param {unknown} thrown
 */
function failed(key, thrown) {
  const millis = retryAfter(thrown);
  const why = describe(thrown);
  if (millis !== undefined) {
    // The interface has no failure with a time. The key comes again without a failure that is counted, so the reason goes to the log.
    warn("reconcile has failed, and is repeated after a time", { key, millis, error: why });
    return after(millis);
  }
  throw { tag: thrown instanceof PermanentError ? "terminal" : "retry", val: why };
}

/**
 * @param {number} millis
 * @returns {{ tag: "requeue-after", val: number }}
 */
function after(millis) {
  return { tag: "requeue-after", val: milliseconds(millis, "requeueAfter") };
}
