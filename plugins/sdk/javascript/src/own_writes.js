// The versions that this plugin has written.

import { text } from "./errors.js";

/** At most this number of versions is kept. */
const KEPT = 1000;

/**
 * The newest versions in the order of the writes. A version alone is unique within an API server.
 * @type {Set<string>}
 */
const versions = new Set();

/**
 * Remembers the version of a write. The functions of `client` do it.
 *
 * @internal
 * @param {string | undefined} resourceVersion
 */
export function wrote(resourceVersion) {
  if (resourceVersion === undefined || resourceVersion === "") return;
  versions.add(resourceVersion);
  if (versions.size > KEPT) {
    const [oldest] = versions;
    versions.delete(/** @type {string} */ (oldest));
  }
}

/**
 * Returns true if this instance of the plugin has written exactly this version of an object: the notification shows its own change.
 * A plugin that was restarted has forgotten it, so compare before a write all the same.
 *
 * @param {{ resourceVersion: string } | { metadata: { resourceVersion?: string } }} object
 */
export function isOwnWrite(object) {
  const version = "metadata" in object ? object.metadata.resourceVersion : object.resourceVersion;
  return version !== undefined && versions.has(text(version, "the resource version"));
}
