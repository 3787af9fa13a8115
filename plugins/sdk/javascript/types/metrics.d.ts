/** @typedef {Record<string, string>} Labels */
/**
 * Adds to a counter.
 *
 * @param {string} name
 * @param {number} [value]
 * @param {Labels} [labels]
 */
export function counterAdd(name: string, value?: number, labels?: Labels): void;
/**
 * Sets a gauge.
 *
 * @param {string} name
 * @param {number} value
 * @param {Labels} [labels]
 */
export function gaugeSet(name: string, value: number, labels?: Labels): void;
/**
 * Adds a value to a histogram.
 *
 * @param {string} name
 * @param {number} value
 * @param {Labels} [labels]
 */
export function histogramObserve(name: string, value: number, labels?: Labels): void;
export type Labels = Record<string, string>;
