"""Requests to the API server. The host sends them with its own credentials, under the field manager `informer/NAME`.

Each request needs a grant under `write` of `[plugin.grant]`, a live read one under `read`. A request that fails raises an `ApiError`.

A write leads to a notification, for this plugin as well: compare before you write, or use `is_own_write`.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Iterator, Literal, Mapping, Optional, Sequence, TypeVar

from wit_world.imports import client as host

from ._types import types
from .errors import ApiError, call, count, settled, text
from .objects import ObjectName, Resource, key_of
from .own_writes import wrote

T = TypeVar("T")

_ATTEMPTS = 5


def get(gvr: str, name: ObjectName, *, subresource: str = "") -> Resource:
    """Reads an object from the API server."""
    return json.loads(call(host.get, text(gvr, "gvr"), _wire(name), text(subresource, "subresource")))


def list(  # noqa: A001
    gvr: str,
    *,
    namespace: Optional[str] = None,
    labels: str = "",
    fields: str = "",
    page_size: int = 0,
) -> Iterator[Resource]:
    """Lists objects from the API server, page by page, 500 in a page by default.

    Without a namespace it lists all namespaces, which needs a grant without a namespace. `labels` and `fields` are selectors of
    Kubernetes.
    """
    place = None if namespace is None else text(namespace, "namespace")
    limit, token = count(page_size, "page_size"), None
    while True:
        options = host.ListOptions(place, text(labels, "labels"), text(fields, "fields"), limit, token)
        page = call(host.list_objects, text(gvr, "gvr"), options)
        for item in page.items:
            yield json.loads(item)
        token = page.next
        if token is None:
            return


def create(gvr: str, obj: Resource, *, dry_run: bool = False, subresource: str = "") -> Resource:
    """Creates an object, in the namespace of its metadata. Returns it as the server answered."""
    namespace = text(obj["metadata"].get("namespace", ""), "the namespace")
    options = _options(dry_run, False, subresource)
    return _written(options, None, host.create, text(gvr, "gvr"), namespace, json.dumps(obj), options)


def update(gvr: str, obj: Resource, *, dry_run: bool = False, subresource: str = "") -> Resource:
    """Replaces an object. Fails with the code `conflict` if its `resourceVersion` is not the current one."""
    options = _options(dry_run, False, subresource)
    return _written(options, obj, host.update, text(gvr, "gvr"), _wire(obj), json.dumps(obj), options)


def merge_patch(gvr: str, name: ObjectName, body: Mapping[str, Any], *, dry_run: bool = False, subresource: str = "") -> Resource:
    """Changes parts of an object by a JSON merge patch (RFC 7386): `None` removes a field, and a list replaces the whole list."""
    return _patch(gvr, name, host.PatchKind.MERGE, body, _options(dry_run, False, subresource))


def json_patch(
    gvr: str, name: ObjectName, operations: Sequence[Mapping[str, Any]], *, dry_run: bool = False, subresource: str = ""
) -> Resource:
    """Changes parts of an object by the operations of a JSON patch (RFC 6902)."""
    return _patch(gvr, name, host.PatchKind.JSON_PATCH, operations, _options(dry_run, False, subresource))


def strategic_merge_patch(
    gvr: str, name: ObjectName, body: Mapping[str, Any], *, dry_run: bool = False, subresource: str = ""
) -> Resource:
    """Changes parts of an object of a built-in kind: lists merge by the keys of their type."""
    return _patch(gvr, name, host.PatchKind.STRATEGIC_MERGE, body, _options(dry_run, False, subresource))


def apply(gvr: str, obj: Resource, *, force: bool = False, dry_run: bool = False, subresource: str = "") -> Resource:
    """Applies the fields that the plugin wants to own (server-side apply), with `apiVersion`, `kind` and the name.

    It creates an object that does not exist. It needs `apply` in the grant. Fails with the code `conflict` if another manager owns a
    field, unless `force` is true.
    """
    return _patch(gvr, obj, host.PatchKind.APPLY, obj, _options(dry_run, force, subresource))


def delete(
    gvr: str,
    name: ObjectName,
    *,
    dry_run: bool = False,
    uid: Optional[str] = None,
    resource_version: Optional[str] = None,
    propagation: Optional[Literal["background", "foreground", "orphan"]] = None,
) -> None:
    """Deletes an object: only the one with this UID, or this version, if they are given. It stays until its finalizers are removed.
    `propagation` says how dependents are deleted."""
    if propagation not in (None, "background", "foreground", "orphan"):
        raise TypeError(f"propagation is {propagation!r}, and none of background, foreground, orphan")
    options = host.DeleteOptions(
        bool(dry_run),
        None if uid is None else text(uid, "uid"),
        None if resource_version is None else text(resource_version, "resource_version"),
        None if propagation is None else host.Propagation[propagation.upper()],
    )
    call(host.delete_object, text(gvr, "gvr"), _wire(name), options)


def record_event(gvr: str, about: ObjectName, reason: str, action: str, note: str = "", *, warning: bool = False) -> None:
    """Records an Event about an object, which `kubectl describe` shows.

    `reason` says why (`ScaledUp`) and `action` what was done (`Scaling`), both as one word in CamelCase. `note` is a sentence for people,
    at most 1 KiB. The same Event within ten minutes raises the count of the first one. It needs `create events.k8s.io/v1/events` in
    the grant.
    """
    words = text(reason, "reason"), text(action, "action"), text(note, "note")
    call(host.record_event, host.ObjectEvent(text(gvr, "gvr"), _wire(about), bool(warning), *words))


def retry_on_conflict(attempt: Callable[[], T]) -> T:
    """Calls a function again if it raises an `ApiError` with the code `conflict`, at most five times in all.

    In each call, the function must read the object anew from `client`, because the cache may still have the old version.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            return settled(attempt(), "the function of retry_on_conflict")
        except ApiError as error:
            if left == 0 or error.code != "conflict":
                raise
    raise AssertionError("the last attempt returns or raises")


def modify(
    gvr: str, name: ObjectName, change: Callable[[Resource], Optional[Resource]], *, dry_run: bool = False, subresource: str = ""
) -> Resource:
    """Reads an object, changes it and replaces it, again after a conflict.

    `change` changes the parsed object and returns `None`, or returns another object. If `change` returns anything else, `modify` raises a
    `TypeError`. If nothing is different afterwards, nothing is sent. Returns the object after the write.
    """

    def attempt() -> Resource:
        obj = get(gvr, name)
        before = copy.deepcopy(obj)
        changed = settled(change(obj), "the function of modify")
        changed = obj if changed is None else changed
        metadata = changed.get("metadata") if isinstance(changed, Mapping) else None
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
            # A lambda returns the result of its last call, such as `setdefault` or `pop`.
            raise TypeError(f"the function of modify has returned {changed!r}: return None, or an object with metadata.name")
        return changed if _same(changed, before) else update(gvr, changed, dry_run=dry_run, subresource=subresource)

    return retry_on_conflict(attempt)


def _same(obj: Resource, before: Resource) -> bool:
    """Returns true if the JSON of both is the same, whatever the order of their keys is. For Python `1`, `1.0` and `True` are equal."""
    return obj == before and json.dumps(obj, sort_keys=True) == json.dumps(before, sort_keys=True)


def _patch(gvr: str, name: ObjectName, kind: Any, body: Any, options: Any) -> Resource:
    return _written(options, body, host.patch, text(gvr, "gvr"), _wire(name), kind, json.dumps(body), options)


def _written(options: Any, sent: Any, function: Callable[..., str], *args: Any) -> Resource:
    """Sends a write. `sent` is the object or the patch, which may have the version before the write."""
    obj = json.loads(call(function, *args))
    if not options.dry_run:
        wrote(_version(obj), _version(sent))
    return obj


def _version(obj: Any) -> Optional[str]:
    """The version in the metadata of an object or a patch, or the one that an operation of a JSON patch compares or sets."""
    if isinstance(obj, Sequence):
        named = [step.get("value") for step in obj if isinstance(step, Mapping) and step.get("path") == "/metadata/resourceVersion"]
        return named[-1] if named else None
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    return metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None


def _options(dry_run: bool, force: bool, subresource: str) -> Any:
    return host.WriteOptions(bool(dry_run), bool(force), text(subresource, "subresource"))


def _wire(name: ObjectName) -> types.ObjectKey:
    key = key_of(name)
    return types.ObjectKey(key.namespace, key.name)
