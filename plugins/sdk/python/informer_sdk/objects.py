"""Objects of Kubernetes: their names, their metadata, and the object of a notification."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

from wit_world.imports import objects as host

from .errors import call, text

Cause = Literal["live", "initial", "relist", "resync", "replay"]
"""Why an object is delivered: `live` for a change, `initial` for an object that existed before, `relist`, `resync` or `replay`."""

Resource = Dict[str, Any]
"""A parsed object: `apiVersion`, `kind`, `metadata` and what its kind adds."""


@dataclass(frozen=True)
class ObjectKey:
    """Names one object within its resource. The namespace of a cluster-scoped object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Owner:
    """The entry of `metadata.ownerReferences` that is the controller."""

    api_version: str
    kind: str
    name: str
    uid: str


class ObjectMeta:
    """The metadata that plugins use most. Annotations are not included: read them with `obj.get("/metadata/annotations")`."""

    namespace: str
    """Empty for a cluster-scoped object."""
    name: str
    uid: str
    resource_version: str
    """Opaque: compare it for equality only."""
    creation_timestamp: str
    """RFC 3339, for example `2026-11-21T02:19:18Z`; empty if the server sent none."""
    deleting: bool
    """True if the object waits for its finalizers."""
    labels: Dict[str, str]
    controller: Optional[Owner]

    def __init__(self, meta: Any) -> None:
        self.namespace = meta.namespace
        self.name = meta.name
        self.uid = meta.uid
        self.resource_version = meta.resource_version
        self.creation_timestamp = meta.creation_timestamp
        self.deleting = meta.deleting
        self.labels = dict(meta.labels)
        owner = meta.controller
        self.controller = owner and Owner(owner.api_version, owner.kind, owner.name, owner.uid)

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` for a cluster-scoped object: the key of a workqueue."""
        return str(ObjectKey(self.namespace, self.name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key} rv={self.resource_version}>"


class KubeObject(ObjectMeta):
    """The object of a notification.

    Its metadata is there at once. Fields are read from the host when they are asked for, and the whole object is parsed when `body` is
    read for the first time. After the call has returned only what was read stays available.
    """

    gvr: Optional[str]
    """The resource, for example `apps/v1/deployments`. The state before an update has none."""

    def __init__(self, gvr: Optional[str], meta: Any, token: int) -> None:
        super().__init__(meta)
        self.gvr = gvr
        self._token = token
        self._body: Optional[Resource] = None

    @classmethod
    def before(cls, token: int) -> KubeObject:
        """Reads the metadata of an object that has only a token: the state before an update."""
        return cls(None, call(host.meta, token), token)

    @property
    def body(self) -> Resource:
        """The whole object, parsed at the first use."""
        if self._body is None:
            self._body = json.loads(self.text())
        return self._body

    def text(self) -> str:
        """The whole object as JSON text."""
        return call(host.json, self._token)

    def get(self, pointer: str, default: Any = None) -> Any:
        """The value at a JSON pointer, for example `/spec/replicas`, or the default."""
        return value(call(host.get, self._token, text(pointer, "pointer")), default)

    def get_many(self, *pointers: str) -> List[Any]:
        """The values at several pointers in one call of the host, in the same order; `None` for each that has none."""
        return [value(found) for found in call(host.get_many, self._token, texts(pointers))]

    def differs(self, other: KubeObject, *pointers: str) -> bool:
        """Returns true if the value at any of the pointers differs from that of another object of the same call, such as the state
        before an update. The host compares, and nothing is parsed."""
        return call(host.differs, self._token, other._token, texts(pointers))


ObjectName = Union[str, ObjectKey, ObjectMeta, Mapping[str, Any]]
"""What names an object: its key, the text `namespace/name`, an object of a notification, or a parsed object."""


def key_of(name: ObjectName) -> ObjectKey:
    """The key of an object."""
    if isinstance(name, ObjectKey):
        return ObjectKey(text(name.namespace, "the namespace"), text(name.name, "the name of the object"))
    if isinstance(name, ObjectMeta):
        return ObjectKey(name.namespace, name.name)
    if isinstance(name, Mapping):
        metadata = name.get("metadata", {})
        return ObjectKey(text(metadata.get("namespace", ""), "the namespace"), text(metadata.get("name"), "the name of the object"))
    parts = text(name, "key").split("/")
    if len(parts) > 2 or "" in parts:
        raise TypeError(f"the key is not `namespace/name` or `name`: {name}")
    return ObjectKey("" if len(parts) == 1 else parts[0], parts[-1])


def parse_key(key: str) -> Tuple[Optional[str], ObjectKey]:
    """Parses a key that the host added to the workqueue.

    Returns the resource of the object, or the kind of its controller, if the subscription has `resource-in-key = true`, and the object.

    `v1/pods shop/web` gives `("v1/pods", ObjectKey("shop", "web"))`, and `shop/web` gives `None` first. To add the same key to the workqueue
    again, pass the text `key`: the object alone has no resource.
    """
    of, blank, name = text(key, "key").rpartition(" ")
    return of if blank else None, key_of(name)


def format_key(name: ObjectName) -> str:
    """`namespace/name`, or `name` for a cluster-scoped object."""
    return str(key_of(name))


def value(found: Optional[str], default: Any = None) -> Any:
    """The value of a JSON text, or the default if there is none."""
    return default if found is None else json.loads(found)


def texts(pointers: Sequence[str]) -> List[str]:
    """Checks pointers."""
    if isinstance(pointers, str):
        raise TypeError("the pointers are a string, and no list of strings")
    return [text(pointer, "pointer") for pointer in pointers]
