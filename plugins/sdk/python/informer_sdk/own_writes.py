"""The versions that this plugin has written."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from .objects import ObjectMeta

_KEPT = 1000

# The newest versions in the order of the writes. A version alone is unique within an API server.
_versions: Dict[str, None] = {}


def wrote(resource_version: Optional[str], before: Optional[str] = None) -> None:
    """Remembers the version of a write. The functions of `client` do it.

    The server answers a write that changes nothing with the version `before`, which another client may have written.
    """
    if resource_version and resource_version != before:
        _versions[resource_version] = None
        if len(_versions) > _KEPT:
            del _versions[next(iter(_versions))]


def forget() -> None:
    """Forgets all writes. The fake host calls this function at a reset, because it then counts its versions from the start again."""
    _versions.clear()


def is_own_write(obj: Union[ObjectMeta, Mapping[str, Any]]) -> bool:
    """Returns true if this instance of the plugin has written exactly this version of an object.

    The notification shows its own change then. A plugin that was restarted does not remember its writes, so compare before a write.

    Pending notifications merge, so such a state may also contain a change that another client made before the write. Do not skip it at the
    start of a handler if the attempt of `delivery.current()` is above 1, or if the cause is `resync` or `replay`: an earlier attempt may
    have written this version and failed afterwards. If the handler skips the version then, the rest of the work of that attempt is lost.
    """
    version = obj.resource_version if isinstance(obj, ObjectMeta) else obj["metadata"].get("resourceVersion")
    return version in _versions
