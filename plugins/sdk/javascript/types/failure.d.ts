/**
 * The text of a thrown value: its name, message and stack, and those of its causes.
 *
 * @param {unknown} thrown
 * @returns {string}
 */
export function describe(thrown: unknown): string;
/**
 * The `failure` of the interface for what a handler has thrown.
 *
 * @param {unknown} thrown
 * @returns {{ tag: "retry" | "permanent", val: string } | { tag: "retry-after", val: [string, number] }}
 */
export function failure(thrown: unknown): {
    tag: "retry" | "permanent";
    val: string;
} | {
    tag: "retry-after";
    val: [string, number];
};
/**
 * The time until the next attempt that an error asks for, in milliseconds.
 *
 * @param {unknown} thrown
 * @returns {number | undefined}
 */
export function retryAfter(thrown: unknown): number | undefined;
