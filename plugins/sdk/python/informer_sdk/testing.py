"""A fake of the host for unit tests: a cluster whose cache is always up to date, a log, key-values, timers and a workqueue.

Import it before anything else of the SDK::

    from informer_sdk.testing import host

    import app

    def test_added():
        assert host.add(app.Handler(), "v1/pods", {"metadata": {"name": "web"}}) is None

The cache and the API server are one store of objects. There are no grants, limits and deadlines. Label selectors are lists of
`name=value`. Other label selectors, field selectors, indexes but `namespace`, JSON patches and strategic merge patches are refused.
Server-side apply is a merge patch that creates an object that does not exist.
"""

from __future__ import annotations

import copy
import json
import sys
from collections import Counter
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, Dict, List, Optional

from ._fake_types import CLIENT, STORE, TYPES, Cause, Err, PatchKind, Verb, api_error, enum, host_error, records

__all__ = ["Err", "Host", "api_error", "host", "host_error"]

_TOO_LARGE = 2**64  # The least number that does not fit into the 64 bits of a counter.
# The fields of the metadata that a write does not change.
_OF_SERVER = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
# The functions that a test can refuse.
_functions = {f"wasi_keyvalue_store.{name}" for name in ("get", "set", "exists", "delete", "list_keys")}


class Host:
    """The fake host."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything, and the plugin forgets its own writes (`is_own_write`)."""
        # A test imports this module before the other modules of the SDK.
        own_writes = sys.modules.get(f"{__package__}.own_writes")
        if own_writes is not None:
            own_writes.forget()
        self.lines: List[Dict[str, Any]] = []
        """The log, with `level`, `message` and `fields`."""
        self.events: List[Any] = []
        """The Events that were recorded."""
        self.calls: List[str] = []
        """The names of all calls, like `client.update`."""
        self.config: Dict[str, str] = {}
        """What `config` has."""
        self.metrics: List[Any] = []
        self.keys: List[Any] = []
        """The keys that were added to the workqueue, each with its milliseconds, or with `None` for a backoff. As in the queue of the host,
        a key is ready once and delayed once. A test takes a key with `host.keys.pop(0)`."""
        self.timers: Dict[str, int] = {}
        """The milliseconds of each timer."""
        self.again: List[int] = []
        """The milliseconds of each `delivery.call_again`."""
        self.attempt = 1
        self.requests: List[Any] = []
        """The HTTP requests: a text like `POST https://chat.example.com/hooks`, and the body."""
        self.answers: Dict[str, Any] = {}
        """The status and the body of the answer to each HTTP request. One without an answer is denied."""
        self._objects: Dict[str, Dict[str, Any]] = {}
        # The objects behind each page of a list, by the token of the next page.
        self._lists: Dict[str, List[Any]] = {}
        self._buckets: Dict[str, Dict[str, bytes]] = {}
        self._refusals: Dict[str, List[Err]] = {}
        self._tokens: Dict[int, Any] = {}
        self._requeues: Counter[str] = Counter()
        self._version = 1

    def put(self, gvr: str, obj: Any) -> Any:
        """Puts an object into the cluster, and returns it with its new version."""
        kept = copy.deepcopy(obj)
        self._version += 1
        kept["metadata"]["resourceVersion"] = str(self._version)
        kept["metadata"].setdefault("uid", f"uid-{self._version}")
        self.of(gvr)[_key(kept["metadata"])] = kept
        return copy.deepcopy(kept)

    def refuse(self, name: str, *errors: Err) -> None:
        """The next calls of a function, like `client.update`, are refused, each with one of the errors. Raises a `ValueError` if the host
        has no such function."""
        if name not in _functions:
            raise ValueError(f"the fake host has no {name}; it has {', '.join(sorted(_functions))}")
        self._refusals[name] = list(errors)

    def start(self, plugin: Any, config: Optional[Dict[str, Any]] = None) -> Optional[str]:
        """Starts a plugin. Returns what it raises."""
        return self._outcome(lambda: plugin.start(json.dumps(config or {})))

    def add(self, handler: Any, gvr: str, obj: Any, cause: str = "live") -> Any:
        """Calls `on_add`. Returns the failure, or `None`."""
        return self._outcome(lambda: handler.on_add(self._event(gvr, obj), Cause[cause.upper()]))

    def update(self, handler: Any, gvr: str, old: Any, obj: Any, cause: str = "live") -> Any:
        """Calls `on_update`. Returns the failure, or `None`."""
        return self._outcome(lambda: handler.on_update(self._event(gvr, old).id, self._event(gvr, obj), Cause[cause.upper()]))

    def delete(self, handler: Any, gvr: str, obj: Any, final_state_known: bool = True) -> Any:
        """Calls `on_delete`. Returns the failure, or `None`."""
        return self._outcome(lambda: handler.on_delete(self._event(gvr, obj), final_state_known))

    def batch(self, batch_handler: Any, gvr: str, *notifications: Dict[str, Any]) -> Any:
        """Calls `on_batch` with `{"verb", "obj", "old", "final_state_known", "cause", "attempt"}` of one resource, of which only `obj` is
        needed. Returns the outcomes."""

        def wire(verb: str = "added", obj: Any = None, old: Any = None, cause: str = "live", **others: Any) -> Any:
            found = self._event(gvr, obj)
            found.verb, found.cause = Verb[verb.upper()], Cause[cause.upper()]
            found.old = None if old is None else self._event(gvr, old).id
            vars(found).update({"final_state_known": True, "attempt": 1, **others})
            return found

        outcomes: List[Any] = []
        failure = self._outcome(lambda: outcomes.extend(batch_handler.on_batch([wire(**one) for one in notifications])))
        return outcomes if failure is None else failure

    def synced(self, sync_handler: Any, gvr: str) -> Any:
        """Calls `on_synced`. Returns the failure, or `None`."""
        return self._outcome(lambda: sync_handler.on_synced(gvr, len(self.of(gvr)), str(self._version)))

    def fire(self, timer_handler: Any, name: str) -> Any:
        """Calls `on_timer`; a timer of `timer.after` is over then. Returns the failure, or `None`."""
        self.timers.pop(name, None)
        return self._outcome(lambda: timer_handler.on_timer(name))

    def configure(self, config_handler: Any, config: Dict[str, Any]) -> Any:
        """Calls `on_config`. Returns the failure, or `None`."""
        return self._outcome(lambda: config_handler.on_config(json.dumps(config)))

    def of(self, gvr: str) -> Dict[str, Any]:
        """The objects of a resource by their keys."""
        return self._objects.setdefault(gvr, {})

    def _event(self, gvr: str, obj: Any) -> Any:
        token = len(self._tokens) + 1
        self._tokens[token] = copy.deepcopy(obj)
        return SimpleNamespace(gvr=gvr, meta=_meta(obj), id=token)

    def _outcome(self, exported: Callable[[], Any]) -> Any:
        try:
            exported()
        except Err as failure:
            # Any other exception would be a trap, so that it fails the test.
            return failure.value
        finally:
            self._tokens = {token: None for token in self._tokens}
        return None

    def _token(self, token: int) -> Any:
        found = self._tokens.get(token)
        if found is None:
            raise host_error("stale-token", "the call has returned")
        return found

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        _functions.add(name)

        def run(*args: Any) -> Any:
            self.calls.append(name)
            errors = self._refusals.get(name)
            if errors:
                raise errors.pop(0)
            return function(*args)

        return run


host = Host()
"""The host of the tests."""


def _key(metadata: Dict[str, Any]) -> str:
    namespace = metadata.get("namespace", "")
    return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]


def _wire_key(key: Any) -> str:
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def _meta(obj: Any) -> Any:
    metadata = obj["metadata"]
    owner = next((owner for owner in metadata.get("ownerReferences", []) if owner.get("controller")), None)
    return TYPES["ObjectMeta"](
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
        metadata.get("creationTimestamp", ""),
        "deletionTimestamp" in metadata,
        list(metadata.get("labels", {}).items()),
        owner and TYPES["Owner"](owner["apiVersion"], owner["kind"], owner["name"], owner["uid"]),
    )


def _at(obj: Any, pointer: str, sort_keys: bool = False) -> Optional[str]:
    if pointer and not pointer.startswith("/"):
        raise host_error("invalid", f"the pointer {pointer!r} does not begin with /")
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(obj, list) and part.isdigit() and int(part) < len(obj):
            obj = obj[int(part)]
        elif isinstance(obj, dict) and part in obj:
            obj = obj[part]
        else:
            return None
    return json.dumps(obj, sort_keys=sort_keys)


def _differs(old: int, new: int, pointers: List[str]) -> bool:
    """The order of keys is no difference."""
    before, after = host._token(old), host._token(new)
    return any(_at(before, pointer, True) != _at(after, pointer, True) for pointer in pointers)


def _selects(selector: str, labels: Dict[str, str], refused: Callable[..., Err]) -> bool:
    """Returns true if labels fit a selector of the form a=b,c=d."""
    fits = True
    for requirement in filter(None, selector.split(",")):
        name, equals, value = requirement.replace("==", "=", 1).partition("=")
        if not name or not equals or any(mark in requirement for mark in "!() ") or "=" in value:
            raise refused("the fake host knows only label selectors like a=b,c=d")
        fits = fits and labels.get(name) == value
    return fits


def _selected(gvr: str, of: Any, place: Optional[str], refused: Callable[..., Err]) -> List[Any]:
    """The selected objects, sorted by namespace and name. As in the host, an empty namespace selects all. `place` is the value of the index
    `namespace`, and `refused` makes the error for a selector."""
    found = []
    _selects(of.labels, {}, refused)
    for obj in host.of(gvr).values():
        metadata = obj["metadata"]
        own = metadata.get("namespace", "")
        fits = _selects(of.labels, metadata.get("labels") or {}, refused)
        if fits and (of.namespace or own) == own and place in (None, own):
            found.append(obj)
    return sorted(found, key=lambda obj: (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))


def _page(part: Any, read: Callable[[Any], Any], first: Callable[[], List[Any]], lost: Err) -> Any:
    """A page of a list. As in the host, all pages of a list come from one snapshot, which `first` makes. `lost` is the error for an unknown
    page."""
    rest = first() if part.token is None else host._lists.get(part.token)
    if rest is None:
        raise lost
    end = part.limit or 500
    token = str(len(host._lists) + 1) if len(rest) > end else None
    if token is not None:
        host._lists[token] = rest[end:]
    return SimpleNamespace(items=[read(obj) for obj in rest[:end]], next=token)


def _cached(gvr: str, of: Any, part: Any, read: Callable[[Any], Any]) -> Any:
    """A page of a list of the cache."""
    refused, lost = partial(host_error, "invalid"), host_error("stale-page", "the page token is unknown")
    name, place = ("namespace", None) if of.index is None else of.index
    if name != "namespace":
        raise refused("the fake host has no index but `namespace`")
    return _page(part, read, lambda: _selected(gvr, of, place, refused), lost)


def _listed(gvr: str, options: Any) -> Any:
    """A page of a list of the API server."""
    refused = partial(api_error, "invalid", status=400)
    if options.fields:
        raise refused("the fake host has no field selectors")
    lost = api_error("gone", "the page token is unknown", 410)
    return _page(options, json.dumps, lambda: _selected(gvr, options, None, refused), lost)


def _find(gvr: str, key: Any) -> Any:
    found = host.of(gvr).get(_wire_key(key))
    if found is None:
        raise api_error("not-found", f"{gvr} {_wire_key(key)} is not found", 404)
    return found


def _holds(found: Any, uid: Optional[str], version: Optional[str]) -> None:
    """Checks the preconditions of a write. `None` is none."""
    metadata = found["metadata"]
    if uid not in (None, metadata.get("uid")) or version not in (None, metadata.get("resourceVersion")):
        raise api_error("conflict", "the object has been modified", 409)


def _kept(gvr: str, obj: Any, dry_run: bool) -> str:
    """Keeps an object unless the write is a dry run."""
    return json.dumps(obj if dry_run else host.put(gvr, obj))


def _made(gvr: str, obj: Any, dry_run: bool) -> str:
    """Keeps a new object. Its UID is new, and the other fields that only the server writes are removed."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_SERVER}
    metadata["uid"] = f"uid-{host._version + 1}"
    return _kept(gvr, {**obj, "metadata": metadata}, dry_run)


def _replaced(gvr: str, found: Any, obj: Any, dry_run: bool) -> str:
    """Keeps the new state of an object. The fields of the server stay as they are. If an object is being deleted, the removal of its last
    finalizer removes the object. An object that is being deleted and had no finalizer stays: a pod, for example, waits for the kubelet."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_SERVER}
    metadata.update((name, value) for name, value in found["metadata"].items() if name in _OF_SERVER)
    obj = {**obj, "metadata": metadata}
    finalized = found["metadata"].get("finalizers") and not metadata.get("finalizers")
    if dry_run or not finalized or "deletionTimestamp" not in metadata:
        return _kept(gvr, obj, dry_run)
    host.of(gvr).pop(_key(metadata), None)
    return json.dumps(obj)


def _create(gvr: str, namespace: str, text: str, options: Any) -> str:
    obj = json.loads(text)
    metadata = obj["metadata"]
    if metadata.get("resourceVersion"):
        raise api_error("invalid", "resourceVersion should not be set on objects to be created", 400)
    if namespace:
        metadata["namespace"] = namespace
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            raise api_error("invalid", "metadata.name: Required value: name or generateName is required", 422)
        metadata["name"] = f"{metadata['generateName']}{host._version + 1:05}"
    if _key(metadata) in host.of(gvr):
        raise api_error("already-exists", "it exists", 409)
    return _made(gvr, obj, options.dry_run)


def _update(gvr: str, key: Any, text: str, options: Any) -> str:
    found, obj = _find(gvr, key), json.loads(text)
    _holds(found, obj["metadata"].get("uid") or None, obj["metadata"].get("resourceVersion") or None)
    return _replaced(gvr, found, obj, options.dry_run)


def _patch(gvr: str, key: Any, kind: Any, text: str, options: Any) -> str:
    body = json.loads(text)
    if kind not in (PatchKind.APPLY, PatchKind.MERGE):
        raise api_error("invalid", f"the fake host has no patch of the kind {kind.name}", 415)
    if kind is PatchKind.APPLY and _wire_key(key) not in host.of(gvr):
        return _made(gvr, _merged({}, body), options.dry_run)
    found, sent = _find(gvr, key), body.get("metadata") or {}
    _holds(found, None, sent.get("resourceVersion") or None)
    if (sent.get("uid") or None) not in (None, found["metadata"].get("uid")):
        raise api_error("invalid", "metadata.uid: field is immutable", 422)
    return _replaced(gvr, found, _merged(found, body), options.dry_run)


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _delete(gvr: str, key: Any, options: Any) -> None:
    found = _find(gvr, key)
    _holds(found, options.uid, options.resource_version)
    if options.dry_run:
        return
    if found["metadata"].get("finalizers"):
        host.put(gvr, {**found, "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", **found["metadata"]}})
    else:
        del host.of(gvr)[_wire_key(key)]


class _Bucket:
    def __init__(self, name: str) -> None:
        values = self.values = host._buckets.setdefault(name, {})
        # The last key of each page that another page follows.
        self._cursors: List[str] = []
        functions: Dict[str, Callable[..., Any]] = {
            "get": values.get,
            "set": values.__setitem__,
            "exists": values.__contains__,
            "delete": lambda key: values.pop(key, None),
            "list_keys": self._list_keys,
        }
        for function, run in functions.items():
            setattr(self, function, host._counted(f"wasi_keyvalue_store.{function}", run))

    def _list_keys(self, cursor: Optional[int]) -> Any:
        """As in the host, keys that are set or deleted meanwhile move no other key."""
        keys = sorted(key for key in self.values if cursor is None or key > self._cursors[cursor])
        if len(keys) <= 2:
            return SimpleNamespace(keys=keys, cursor=None)
        self._cursors.append(keys[1])
        return SimpleNamespace(keys=keys[:2], cursor=len(self._cursors) - 1)

    def __exit__(self, *args: Any) -> None:
        self.values = {}


def _increment(bucket: _Bucket, key: str, delta: int) -> int:
    kept = bucket.values.get(key, b"0")
    total = int(kept) + delta if kept.isdigit() else _TOO_LARGE
    if total >= _TOO_LARGE:
        why = f"the value of `{key}` cannot be incremented: the value or the sum is not a decimal number of 64 bits"
        raise Err(STORE["Error_Other"](why))
    bucket.values[key] = str(total).encode()
    return total


def _index_values(gvr: str, index: str, namespace: Optional[str], after: Optional[str], limit: int) -> List[Any]:
    if index != "namespace":
        raise host_error("invalid", "the fake host has no index but `namespace`")
    counts = Counter(obj["metadata"].get("namespace", "") for obj in host.of(gvr).values())
    behind = sorted(value for value in counts if (after is None or value > after) and namespace in (None, value))
    return [SimpleNamespace(value=value, objects=counts[value]) for value in behind[: limit or 500]]


def _enqueue(key: str, millis: Optional[int]) -> None:
    """Adds a key to the workqueue. The delay is zero for a ready key, and `None` for a backoff, which is counted. If a delayed key is
    delayed once more, the shorter delay wins."""
    host._requeues[key] += millis is None
    for i, (other, delay) in enumerate(host.keys):
        if other == key and (delay == millis or (delay and millis)):
            host.keys[i] = (key, min(delay, millis) if delay and millis else millis)
            return
    host.keys.append((key, millis))


def _set_timer(name: str, millis: int) -> None:
    if not name:
        raise host_error("invalid", "the name of a timer is empty")
    host.timers[name] = millis


def _optional(gvr: str, key: Any, read: Callable[[Any], Any]) -> Any:
    found = host.of(gvr).get(_wire_key(key))
    return None if found is None else read(found)


def _fields(obj: Any, pointers: List[str]) -> Any:
    metadata = obj["metadata"]
    key = TYPES["ObjectKey"](metadata.get("namespace", ""), metadata["name"])
    return SimpleNamespace(key=key, values=[_at(obj, pointer) for pointer in pointers])


def _module(name: str, **contents: Any) -> None:
    module = ModuleType(name)
    vars(module).update(contents)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


def _interface(name: str, functions: Dict[str, Callable[..., Any]], **others: Any) -> None:
    counted = {key: host._counted(f"{name}.{key}", function) for key, function in functions.items()}
    _module(f"wit_world.imports.{name}", **counted, **others)


def _install() -> None:
    _module("componentize_py_types", Err=Err)
    for package in ("wit_world", "wit_world.imports", "wit_world.exports"):
        _module(package)
    _module("wit_world.imports.types", **TYPES)
    _interface(
        "objects",
        {
            "meta": lambda token: _meta(host._token(token)),
            "json": lambda token: json.dumps(host._token(token)),
            "get": lambda token, pointer: _at(host._token(token), pointer),
            "get_many": lambda token, pointers: [_at(host._token(token), pointer) for pointer in pointers],
            "differs": _differs,
        },
    )
    _interface(
        "lister",
        {
            "get": lambda gvr, key: _optional(gvr, key, json.dumps),
            "get_fields": lambda gvr, key, pointers: _optional(gvr, key, lambda obj: [_at(obj, p) for p in pointers]),
            "list_json": lambda gvr, of, part: _cached(gvr, of, part, json.dumps),
            "list_meta": lambda gvr, of, part: _cached(gvr, of, part, _meta),
            "list_fields": lambda gvr, of, pointers, part: _cached(gvr, of, part, lambda obj: _fields(obj, pointers)),
            "has_synced": lambda gvr: True,
            "index_values": _index_values,
            "state": lambda gvr: SimpleNamespace(synced=True, resource_version=str(host._version), age_ms=0),
            "wait_until": lambda gvr, namespace, version, millis: True,
        },
        **records(Selector="namespace labels index", Page="limit token"),
    )
    _interface(
        "client",
        {
            "get": lambda gvr, key, subresource: json.dumps(_find(gvr, key)),
            "list_objects": _listed,
            "create": _create,
            "update": _update,
            "patch": _patch,
            "delete_object": _delete,
            "record_event": lambda event: host.events.append(event),
        },
        **CLIENT,
        PatchKind=PatchKind,
        Propagation=enum("Propagation", "background foreground orphan"),
    )
    _install_small()


def _send(method: str, scheme: str, authority: str, path: str, headers: Any, body: Optional[bytes], millis: Optional[int]) -> Any:
    from .errors import HostError

    request = f"{method} {scheme}://{authority}{path}"
    host.requests.append((request, body))
    if request not in host.answers:
        raise HostError("http-request-denied", "the test has no answer")
    status, answered = host.answers[request]
    return status, [("content-length", str(len(answered)))], answered


def _install_small() -> None:
    _module(f"{__package__}._wasi_http", send=_send)
    level = enum("Level", "trace debug info warn error")

    def write(level: Any, message: str, fields: Any) -> None:
        host.lines.append({"level": level.name.lower(), "message": message, "fields": dict(fields)})

    _module("wit_world.imports.log", Level=level, enabled=lambda level: True, write=write)
    _interface("wasi_keyvalue_store", {"open": _Bucket})
    _interface("atomics", {"increment": _increment})
    _interface("wasi_config_store", {"get": lambda name: host.config.get(name), "get_all": lambda: list(host.config.items())})
    delivery = lambda: SimpleNamespace(attempt=host.attempt, queued_ms=5, plugin="test", host_version="0.1.0")  # noqa: E731
    _interface("delivery", {"current": delivery, "call_again": lambda millis: host.again.append(millis)})
    _interface("timer", {"after": _set_timer, "cancel": lambda name: host.timers.pop(name, None)})
    kinds = ("counter_add", "gauge_set", "histogram_observe")
    _interface("metrics", {kind: lambda *args, kind=kind: host.metrics.append((kind, *args)) for kind in kinds})
    _interface(
        "workqueue",
        {
            "add": lambda key: _enqueue(key, 0),
            "add_after": _enqueue,
            "add_rate_limited": lambda key: _enqueue(key, None),
            "forget": lambda key: host._requeues.pop(key, None),
            "num_requeues": lambda key: host._requeues[key],
            "length": lambda: sum(millis == 0 for _, millis in host.keys),
        },
    )
    _module("wit_world.exports.handler", Cause=Cause)
    _module("wit_world.exports.plugin", **records(Info="name version sdk"))
    outcomes = {"Outcome_Done": "", "Outcome_Requeue": "", "Outcome_RequeueAfter": "value"}
    errors = {"ReconcileError_Retry": "value", "ReconcileError_Terminal": "value"}
    _module("wit_world.exports.reconciler", **records(**outcomes, **errors))
    _module("wit_world.exports.batch_handler", **records(Outcome_Handled="", Outcome_Again="value", Outcome_Failed="value"))


_install()
