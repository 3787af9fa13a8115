"""Finalizers and owner references."""

from __future__ import annotations

from typing import Any, Callable, Dict

from . import client
from .errors import ApiError, settled
from .objects import Resource, format_key


def finalize(gvr: str, obj: Resource, finalizer: str, cleanup: Callable[[Resource], Any]) -> bool:
    """Keeps a finalizer on an object that lives, and cleans up when the object is deleted.

    Returns true if the object lives and has the finalizer: go on with your work. Returns false if the object is being deleted. Then
    `cleanup` was called and the finalizer is removed, unless an earlier call has done this. If `cleanup` raises, the finalizer stays and
    the call is repeated. So `cleanup` may be called several times for an object. If `cleanup` is async, `finalize` raises a
    `PermanentError`, and the finalizer stays. If the object was deleted after the state in `obj`, a finalizer would come too late: the
    result is false, and `cleanup` is not called.

    `obj` is a parsed object: from `lister.get`, or `body` of a notification. `finalizer` is a name of yours, like `example.com/cleanup`.
    The plugin needs `update` of the resource in the grant, and a live read. If it declares the fields that it reads,
    `/metadata/finalizers` must be one of them.
    """
    if "deletionTimestamp" not in obj["metadata"]:
        if _has(obj, finalizer):
            return True
        now = client.modify(gvr, obj, lambda current: _add(current, obj, finalizer))
        return _has(now, finalizer) and _same(now, obj)
    if _has(obj, finalizer):
        # The code of an async function would not run, and the finalizer would be gone.
        settled(cleanup(obj), "cleanup")
        try:
            client.modify(gvr, obj, lambda current: _remove(current, obj, finalizer))
        except ApiError as error:
            # The object is gone, so it has no finalizer.
            if error.code != "not-found":
                raise
    return False


def owner_reference(owner: Resource, *, controller: bool = True, block_owner_deletion: bool = True) -> Dict[str, Any]:
    """The entry of `metadata.ownerReferences` that names an owner, which is parsed."""
    metadata = owner.get("metadata", {})
    names = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
    }
    for field, found in names.items():
        if not found:
            raise TypeError(f"the owner has no {field}")
    return {**names, "controller": controller, "blockOwnerDeletion": block_owner_deletion}


def set_owner(obj: Resource, owner: Resource, *, controller: bool = True, block_owner_deletion: bool = True) -> Resource:
    """Makes an object belong to an owner: the garbage collector of Kubernetes deletes it after the owner.

    Changes and returns the object; nothing is sent. Raises `ValueError` if the object has another controller, or if the two are in
    different namespaces.
    """
    reference = owner_reference(owner, controller=controller, block_owner_deletion=block_owner_deletion)
    metadata = obj["metadata"]
    others = [other for other in metadata.get("ownerReferences", []) if other["uid"] != reference["uid"]]
    for other in others:
        if controller and other.get("controller"):
            raise ValueError(f"{format_key(obj)} is controlled by {other['kind']} {other['name']}")
    namespace = owner["metadata"].get("namespace", "")
    if namespace and namespace != metadata.get("namespace"):
        raise ValueError(f"the owner {format_key(owner)} is in another namespace than {format_key(obj)}")
    metadata["ownerReferences"] = [*others, reference]
    return obj


def _has(obj: Resource, finalizer: str) -> bool:
    return finalizer in obj["metadata"].get("finalizers", [])


def _add(current: Resource, obj: Resource, finalizer: str) -> None:
    # It may have been deleted meanwhile. The server refuses new finalizers then.
    if not _has(current, finalizer) and _same(current, obj):
        current["metadata"].setdefault("finalizers", []).append(finalizer)


def _remove(current: Resource, obj: Resource, finalizer: str) -> None:
    if _has(current, finalizer) and _same(current, obj):
        current["metadata"]["finalizers"].remove(finalizer)


def _same(current: Resource, obj: Resource) -> bool:
    """Returns true if the object is still the same one, and no new one with its name."""
    now, then = current["metadata"], obj["metadata"]
    return now["uid"] == then["uid"] and ("deletionTimestamp" in now) == ("deletionTimestamp" in then)
