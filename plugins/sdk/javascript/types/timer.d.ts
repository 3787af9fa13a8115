/**
 * Sets a timer. If there is a timer of this name, the new time replaces the old one. The longest time is about 24.8 days.
 *
 * The host refuses a name that is empty, longer than 512 bytes or the name of a `[[plugin.timer]]`, and more than 1,000 timers.
 *
 * @param {string} name
 * @param {number} millis
 */
export function after(name: string, millis: number): void;
/**
 * Removes a timer. Nothing happens if there is none.
 *
 * @param {string} name
 */
export function cancel(name: string): void;
