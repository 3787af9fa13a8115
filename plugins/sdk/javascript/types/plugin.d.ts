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
export function definePlugin(definition: Definition): {
    /** The interface `plugin`. */
    plugin: {
        describe: () => {
            name: string;
            version: string;
            sdk: string;
        };
        start(config: string): void;
        stop(): void;
    };
    /** The interface `handler`. */
    handler: {
        onAdd: (added: any, cause: Cause) => void;
        onUpdate: (old: number, updated: any, cause: Cause) => void;
        onDelete: (deleted: any, finalStateKnown: boolean) => void;
    };
    /** The interface `batch-handler`. */
    batchHandler: {
        onBatch(notifications: any[]): import("./batch.js").WireOutcome[];
    };
    /** The interface `reconciler`. */
    reconciler: {
        reconcile(key: string): {
            tag: "done";
        } | {
            tag: "requeue";
        } | {
            tag: "requeue-after";
            val: number;
        };
    };
    /** The interface `sync-handler`. */
    syncHandler: {
        onSynced: (gvr: string, count: number, resourceVersion: string) => void;
    };
    /** The interface `timer-handler`. */
    timerHandler: {
        onTimer: (name: string) => void;
    };
    /** The interface `config-handler`. */
    configHandler: {
        onConfig: (config: string) => void;
    };
};
/**
 * The result of `reconcile`: nothing if the key is done, or the time at which the host reconciles it again. The longest `requeueAfter` is
 * about 24.8 days.
 */
export type Reconciled = void | undefined | {
    requeue: true;
} | {
    requeueAfter: number;
};
/**
 * The cache of a subscription is complete, and its objects have been delivered, also if there are none.
 *
 * - `gvr`: the resource, for example `apps/v1/deployments`.
 * - `count`: the number of objects that the subscription selected when its cache was complete.
 * - `resourceVersion`: the version of the collection that the cache had reached. It is empty if the host watches several namespaces whose
 *   versions have no order.
 */
export type Synced = {
    gvr: string;
    count: number;
    resourceVersion: string;
};
/**
 * The functions of a plugin. All of them are optional and synchronous. If a handler throws, the call has failed, and the host delivers the
 * notification again after a backoff. Throw a `PermanentError` for a dead letter, or a `RetryAfterError` to choose the time.
 */
export type Definition = {
    /**
     * the name that the host shows beside that of the configuration
     */
    name?: string | undefined;
    /**
     * the version of the plugin
     */
    version?: string | undefined;
    /**
     * is called once before anything else, with `[plugin.config]`. If it throws, the plugin does not
     * start
     */
    start?: ((config: any) => void) | undefined;
    /**
     * is called before the instance ends, if there is time for it
     */
    stop?: (() => void) | undefined;
    /**
     * an object is new
     */
    onAdd?: ((object: KubeObject, cause: Cause) => void) | undefined;
    /**
     * an object has changed, or is delivered again
     */
    onUpdate?: ((old: KubeObject, object: KubeObject, cause: Cause) => void) | undefined;
    /**
     * an object is gone, with its last known state
     */
    onDelete?: ((object: KubeObject, finalStateKnown: boolean) => void) | undefined;
    /**
     * several notifications in one call, instead of the three above. It returns
     * one outcome for each, in their order. Export `batchHandler` instead of `handler`
     */
    onBatch?: ((notifications: Notification[]) => Outcome[]) | undefined;
    /**
     * an object with this key has changed. The world of the plugin must export `reconciler`
     */
    reconcile?: ((key: string) => Reconciled) | undefined;
    /**
     * the cache of a subscription is complete. Export `syncHandler` too
     */
    onSynced?: ((synced: Synced) => void) | undefined;
    /**
     * a timer fires: one of `[[plugin.timer]]`, or one of `timer.after`. Export `timerHandler` too
     */
    onTimer?: ((name: string) => void) | undefined;
    /**
     * a file of `config-files` changed; `config` is what `start` would get now. The host calls it in
     * one instance. Export `configHandler` too
     */
    onConfig?: ((config: any) => void) | undefined;
    /**
     * if true, `onUpdate` is not called for a version that this instance has written. It is called
     * for a second attempt, and for the causes `resync` and `replay`, because an earlier attempt may have written the version and failed
     * afterwards. A version that is left out may also contain a change of another client, which merged with the own change
     */
    ignoreOwnWrites?: boolean | undefined;
};
import type { Cause } from "./object.js";
import { KubeObject } from "./object.js";
import type { Notification } from "./batch.js";
import type { Outcome } from "./batch.js";
