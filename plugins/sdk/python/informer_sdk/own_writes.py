"""The versions that this plugin has written."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from .objects import ObjectMeta

_KEPT = 1000

# The newest versions in the order of the writes. A version alone is unique within an API server.
_versions: Dict[str, None] = {}


def wrote(resource_version: Optional[str]) -> None:
    """Remembers the version of a write. The functions of `client` do it."""
    if resource_version:
        _versions[resource_version] = None
        if len(_versions) > _KEPT:
            del _versions[next(iter(_versions))]


def is_own_write(obj: Union[ObjectMeta, Mapping[str, Any]]) -> bool:
    """Returns true if this instance of the plugin has written exactly this version of an object.

    The notification shows its own change then. A plugin that was restarted has forgotten it, so compare before a write all the same.
    """
    version = obj.resource_version if isinstance(obj, ObjectMeta) else obj["metadata"].get("resourceVersion")
    return version in _versions
