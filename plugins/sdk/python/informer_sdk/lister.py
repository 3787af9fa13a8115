"""Reads of the host's cache. The host keeps one cache for all plugins.

A read sends no request to the API server, so it is cheap. The cache is never older than the notification of the current call. Each
resource needs the grant `read`.

Lists are iterators that fetch page by page. Use them up within the call: the host forgets the pages when the call returns.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from wit_world.imports import lister as host

from ._types import types
from .errors import call, count, millis, text
from .objects import ObjectKey, ObjectMeta, ObjectName, Resource, key_of, texts, value


@dataclass(frozen=True)
class Fields:
    """The values at some pointers of an object, `None` for each that has none."""

    key: ObjectKey
    values: List[Any]


@dataclass(frozen=True)
class IndexValue:
    """A value of an index, and the number of objects that have it."""

    value: str
    objects: int


@dataclass(frozen=True)
class CacheState:
    """What a cache holds, and how old that may be."""

    synced: bool
    """True if the first list of the resource is in the cache. Until then, lists are incomplete."""
    resource_version: str
    """The version that the cache has reached. It is empty before the first list, and if the host watches several namespaces whose
    versions have no order."""
    age: Optional[float]
    """The seconds since the API server last sent a list, an event or a bookmark, or `None` before the first list. A healthy watch receives
    a bookmark about once a minute."""


def get(gvr: str, name: ObjectName) -> Optional[Resource]:
    """The object as it is in the cache, or `None`. `gvr` is a resource, for example `apps/v1/deployments`."""
    return value(call(host.get, text(gvr, "gvr"), _wire(name)))


def get_fields(gvr: str, name: ObjectName, pointers: Sequence[str]) -> Optional[List[Any]]:
    """The values at JSON pointers in the order of the pointers, `None` for each that has none. Returns `None` if there is no such
    object."""
    found = call(host.get_fields, text(gvr, "gvr"), _wire(name), texts(pointers))
    return None if found is None else [value(field) for field in found]


def list(  # noqa: A001
    gvr: str,
    *,
    namespace: Optional[str] = None,
    labels: str = "",
    index: Optional[Tuple[str, str]] = None,
    page_size: int = 0,
) -> Iterator[Resource]:
    """The objects of a resource, parsed.

    All conditions must hold: `namespace`, `labels`, which is a label selector like `app=web,tier!=cache`, and `index`, which is a pair:
    the name of an index of the watch, and a value. An empty namespace selects all, and needs a grant without a namespace. A page has at
    most `page_size` objects; the host decides without it.
    """
    for item in _pages(lambda of, part: host.list_json(text(gvr, "gvr"), of, part), namespace, labels, index, page_size):
        yield json.loads(item)


def list_meta(
    gvr: str,
    *,
    namespace: Optional[str] = None,
    labels: str = "",
    index: Optional[Tuple[str, str]] = None,
    page_size: int = 0,
) -> Iterator[ObjectMeta]:
    """The metadata of the objects of a resource."""
    for meta in _pages(lambda of, part: host.list_meta(text(gvr, "gvr"), of, part), namespace, labels, index, page_size):
        yield ObjectMeta(meta)


def list_fields(
    gvr: str,
    pointers: Sequence[str],
    *,
    namespace: Optional[str] = None,
    labels: str = "",
    index: Optional[Tuple[str, str]] = None,
    page_size: int = 0,
) -> Iterator[Fields]:
    """The values at JSON pointers of the objects of a resource. Nothing else is parsed."""
    wanted = texts(pointers)
    fetch = lambda of, part: host.list_fields(text(gvr, "gvr"), of, wanted, part)  # noqa: E731
    for found in _pages(fetch, namespace, labels, index, page_size):
        yield Fields(ObjectKey(found.key.namespace, found.key.name), [value(field) for field in found.values])


def index_values(gvr: str, index: str, *, namespace: Optional[str] = None, page_size: int = 0) -> Iterator[IndexValue]:
    """The values of an index of the watch, in the order of their bytes. The index `namespace` always exists.

    Only objects that the plugin may read count. Values that come and go meanwhile may be missing or present.
    """
    place = None if namespace is None else text(namespace, "namespace")
    limit, after = count(page_size, "page_size"), None
    while True:
        page = call(host.index_values, text(gvr, "gvr"), text(index, "index"), place, after, limit)
        if not page:
            return
        for found in page:
            yield IndexValue(found.value, found.objects)
        after = page[-1].value


def state(gvr: str) -> CacheState:
    """What the cache of a resource holds, and how old that may be. Use it before a decision that an old state would make wrong."""
    found = call(host.state, text(gvr, "gvr"))
    return CacheState(found.synced, found.resource_version, None if found.age_ms is None else found.age_ms / 1000)


def has_synced(gvr: str) -> bool:
    """Returns true once the cache holds all objects of the resource."""
    return call(host.has_synced, text(gvr, "gvr"))


def wait_until(gvr: str, resource_version: str, *, namespace: Optional[str] = None, seconds: float = 1.0) -> bool:
    """Waits until the cache is at least as new as a resource version, for example the version of a write. Returns false if the wait takes
    longer than the time."""
    place = None if namespace is None else text(namespace, "namespace")
    version = text(resource_version, "resource_version")
    return call(host.wait_until, text(gvr, "gvr"), place, version, millis(seconds, "seconds"))


def _pages(
    fetch: Callable[[Any, Any], Any],
    namespace: Optional[str],
    labels: str,
    index: Optional[Tuple[str, str]],
    page_size: int,
) -> Iterator[Any]:
    place = None if namespace is None else text(namespace, "namespace")
    pair = None if index is None else (text(index[0], "index"), text(index[1], "index"))
    of, limit = host.Selector(place, text(labels, "labels"), pair), count(page_size, "page_size")
    token: Optional[str] = None
    while True:
        page = call(fetch, of, host.Page(limit, token))
        yield from page.items
        token = page.next
        if token is None:
            return


def _wire(name: ObjectName) -> types.ObjectKey:
    key = key_of(name)
    return types.ObjectKey(key.namespace, key.name)
