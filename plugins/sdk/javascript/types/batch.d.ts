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
export function answers(notifications: any[], onBatch: (notifications: Notification[]) => Outcome[]): WireOutcome[];
/**
 * A notification of a batch.
 *
 * - `verb`: what happened to the object.
 * - `object`: the object; after a deletion, its last known state.
 * - `old`: the state before an update.
 * - `finalStateKnown`: false if the watch missed the deletion, so that the object may have changed since this state.
 * - `cause`: why the notification is delivered.
 * - `attempt`: the number of the attempt to deliver it. The first is 1.
 */
export type Notification = {
    verb: "added" | "updated" | "deleted";
    object: KubeObject;
    old?: KubeObject;
    finalStateKnown: boolean;
    cause: Cause;
    attempt: number;
};
/**
 * The outcome of one notification: nothing if it is handled, `{ again: MILLISECONDS }` if it is handled and its object is delivered once
 * more after that time, or an error if it has failed, as if a handler had thrown the error.
 */
export type Outcome = void | undefined | null | {
    again: number;
} | Error;
export type WireOutcome = {
    tag: "handled";
} | {
    tag: "again";
    val: number;
} | {
    tag: "failed";
    val: ReturnType<typeof failure>;
};
import { KubeObject } from "./object.js";
import type { Cause } from "./object.js";
import { failure } from "./failure.js";
