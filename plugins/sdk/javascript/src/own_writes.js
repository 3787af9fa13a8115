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
 * Remembers the version of a write. The functions of `client` do it. The server answers a write that changes nothing with the version
 * before the write, which another client may have written.
 *
 * @internal
 * @param {string | undefined} resourceVersion
 * @param {string} [before] the version before the write, if it is known
 */
export function wrote(resourceVersion, before) {
  if (resourceVersion === undefined || resourceVersion === "" || resourceVersion === before) return;
  versions.add(resourceVersion);
  if (versions.size > KEPT) {
    const [oldest] = versions;
    versions.delete(/** @type {string} */ (oldest));
  }
}

/**
 * Forgets all writes. The fake host calls this function at a reset, because it then counts its versions from the start again.
 *
 * @internal
 */
export function forget() {
  versions.clear();
}

/**
 * Returns true if this instance of the plugin has written exactly this version of an object: the notification shows its own change. A
 * plugin that was restarted does not remember its writes, so compare before a write all the same.
 *
 * Pending notifications merge, so such a state may also contain a change that another client made before the write. Do not skip it at the
 * start of a handler if the attempt of `delivery()` is above 1, or if the cause is `resync` or `replay`: an earlier attempt may have
 * written this version and failed afterwards. If the handler skips the version then, the rest of the work of that attempt is lost.
 *
 * @param {{ resourceVersion: string } | { metadata: { resourceVersion?: string } }} object
 */
export function isOwnWrite(object) {
  const version = "metadata" in object ? object.metadata.resourceVersion : object.resourceVersion;
  return version !== undefined && versions.has(text(version, "the resource version"));
}
