// Several notifications in one call.

import { PermanentError, milliseconds } from "./errors.js";
import { describe, failure } from "./failure.js";
import { warn } from "./log.js";
import { KubeObject, before } from "./object.js";

/** @import { Cause } from "./object.js" */

/**
 * A notification of a batch.
 *
 * - `verb`: what happened to the object.
 * - `object`: the object; after a deletion, its last known state.
 * - `old`: the state before an update.
 * - `finalStateKnown`: false if the watch missed the deletion, so that the object may have changed since this state.
 * - `cause`: why the notification is delivered.
 * - `attempt`: the number of the attempt to deliver it. The first is 1.
 *
 * @typedef {{ verb: "added" | "updated" | "deleted", object: KubeObject, old?: KubeObject, finalStateKnown: boolean, cause: Cause,
 *   attempt: number }} Notification
 */

/**
 * The outcome of one notification: nothing if it is handled, `{ again: MILLISECONDS }` if it is handled and its object is delivered once
 * more after that time, or an error if it has failed, as if a handler had thrown the error.
 *
 * @typedef {void | undefined | null | { again: number } | Error} Outcome
 */

/**
 * @internal
 * @typedef {{ tag: "handled" } | { tag: "again", val: number } | { tag: "failed", val: ReturnType<typeof failure> }} WireOutcome
 */

/**
 * Makes the answer to a batch. If `onBatch` throws, the answer has no outcomes, so the host delivers each notification alone. If it throws
 * for a batch of one notification, the notification has failed with this error.
 *
 * @internal
 * @param {any[]} notifications
 * @param {(notifications: Notification[]) => Outcome[]} onBatch
 * @returns {WireOutcome[]}
 */
export function answers(notifications, onBatch) {
  try {
    const outcomes = onBatch(notifications.map(notification));
    if (!Array.isArray(outcomes)) throw new PermanentError("onBatch has not returned an array: return one outcome for each notification");
    return outcomes.map(answer);
  } catch (thrown) {
    if (notifications.length === 1) return [{ tag: "failed", val: failure(thrown) }];
    warn("onBatch has failed, and its notifications are delivered one by one", { error: describe(thrown) });
    return [];
  }
}

/**
 * @param {any} wire
 * @returns {Notification}
 */
function notification({ verb, gvr, meta, id, old, finalStateKnown, cause, attempt }) {
  const object = new KubeObject(gvr, meta, id);
  const state = old === undefined || old === null ? {} : { old: before(old) };
  return { verb, object, ...state, finalStateKnown, cause, attempt };
}

/**
 * @param {Outcome} outcome
 * @returns {WireOutcome}
 */
function answer(outcome) {
  if (outcome === undefined || outcome === null) return { tag: "handled" };
  if (outcome instanceof Error) return { tag: "failed", val: failure(outcome) };
  const { again } = /** @type {any} */ (outcome);
  if (typeof again === "number" && again >= 0) return { tag: "again", val: milliseconds(again, "again") };
  const problem = `an outcome of onBatch is ${describe(outcome)}: it is nothing, { again: MILLISECONDS } or an error`;
  return { tag: "failed", val: failure(new PermanentError(problem)) };
}
