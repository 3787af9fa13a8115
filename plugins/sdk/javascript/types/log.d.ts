/**
 * Returns true if the host keeps lines of this level. Use it before you compute something for a line.
 *
 * @param {Level} level
 */
export function enabled(level: Level): boolean;
/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function trace(message: string, fields?: Fields): void;
/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function debug(message: string, fields?: Fields): void;
/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function info(message: string, fields?: Fields): void;
/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function warn(message: string, fields?: Fields): void;
/**
 * @param {string} message
 * @param {Fields} [fields]
 */
export function error(message: string, fields?: Fields): void;
/**
 * Begins to write to the host, which exists from the first call on.
 *
 * @internal
 */
export function begin(): void;
export namespace console {
    let trace: (...values: unknown[]) => void;
    let debug: (...values: unknown[]) => void;
    let log: (...values: unknown[]) => void;
    let info: (...values: unknown[]) => void;
    let warn: (...values: unknown[]) => void;
    let error: (...values: unknown[]) => void;
    /**
     * @param {unknown} condition
     * @param {...unknown} values
     */
    function assert(condition: unknown, ...values: unknown[]): void;
}
export type Level = "trace" | "debug" | "info" | "warn" | "error";
/**
 * Values of fields. Text stays as it is, an `Error` becomes its description, and anything else JSON.
 */
export type Fields = Record<string, unknown>;
