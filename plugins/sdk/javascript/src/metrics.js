/**
 * Metrics of the plugin on `/metrics` of the host, with the label `plugin`.
 *
 * @module
 */

import * as host from "informer:plugin/metrics@0.2.0";

import { call, text } from "./errors.js";

/** @typedef {Record<string, string>} Labels */

/**
 * Adds to a counter.
 *
 * @param {string} name
 * @param {number} [value]
 * @param {Labels} [labels]
 */
export function counterAdd(name, value = 1, labels = {}) {
  call(() => host.counterAdd(text(name, "name"), pairs(labels), number(value)));
}

/**
 * Sets a gauge.
 *
 * @param {string} name
 * @param {number} value
 * @param {Labels} [labels]
 */
export function gaugeSet(name, value, labels = {}) {
  call(() => host.gaugeSet(text(name, "name"), pairs(labels), number(value)));
}

/**
 * Adds a value to a histogram.
 *
 * @param {string} name
 * @param {number} value
 * @param {Labels} [labels]
 */
export function histogramObserve(name, value, labels = {}) {
  call(() => host.histogramObserve(text(name, "name"), pairs(labels), number(value)));
}

/**
 * @param {Labels} labels
 * @returns {Array<[string, string]>}
 */
function pairs(labels) {
  return Object.entries(labels).map(([name, value]) => [text(name, "label"), text(value, `the label ${name}`)]);
}

/** @param {unknown} value */
function number(value) {
  if (typeof value !== "number") throw new TypeError(`the value of a metric is no number: ${String(value)}`);
  return value;
}
