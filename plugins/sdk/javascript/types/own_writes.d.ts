/**
 * Remembers the version of a write. The functions of `client` do it.
 *
 * @internal
 * @param {string | undefined} resourceVersion
 */
export function wrote(resourceVersion: string | undefined): void;
/**
 * Returns true if this instance of the plugin has written exactly this version of an object: the notification shows its own change.
 * A plugin that was restarted has forgotten it, so compare before a write all the same.
 *
 * @param {{ resourceVersion: string } | { metadata: { resourceVersion?: string } }} object
 */
export function isOwnWrite(object: {
    resourceVersion: string;
} | {
    metadata: {
        resourceVersion?: string;
    };
}): boolean;
