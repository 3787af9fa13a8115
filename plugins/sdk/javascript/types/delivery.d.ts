/**
 * The attempt of the current call from 1 on, the milliseconds that it has waited, the name of the plugin, and the version of the host.
 *
 * @returns {{ attempt: number, queuedMs: number, plugin: string, hostVersion: string }}
 */
export function delivery(): {
    attempt: number;
    queuedMs: number;
    plugin: string;
    hostVersion: string;
};
