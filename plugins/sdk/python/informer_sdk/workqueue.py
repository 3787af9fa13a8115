"""The queue of keys of the plugin, for plugins with a reconciler.

A key is text; `namespace/name` by convention. It works as the workqueue of client-go: a key is in the queue once, and two workers never
have the same key.
"""

from __future__ import annotations

from wit_world.imports import workqueue as host

from .errors import call, millis, text
from .objects import ObjectName, format_key


def add(key: ObjectName) -> None:
    """Adds a key. A key that is in the queue is not added twice; one that is being reconciled is reconciled once more afterwards."""
    call(host.add, _wire(key))


def add_after(key: ObjectName, seconds: float) -> None:
    """Adds a key after a time. If a key is added several times, the earliest time wins."""
    call(host.add_after, _wire(key), millis(seconds, "seconds"))


def add_rate_limited(key: ObjectName) -> None:
    """Adds a key after its backoff, which doubles with each call until `forget`."""
    call(host.add_rate_limited, _wire(key))


def forget(key: ObjectName) -> None:
    """Resets the backoff of a key. The host does so itself when the reconciler returns `None` or `Requeue(after=...)`, and when the
    key becomes a dead letter."""
    call(host.forget, _wire(key))


def num_requeues(key: ObjectName) -> int:
    """The number of times that a key was added with a backoff since its backoff was reset: by `add_rate_limited`, and by the host after a
    `Requeue()` and after each failed call."""
    return call(host.num_requeues, _wire(key))


def length() -> int:
    """The number of keys that are ready."""
    return call(host.length)


def _wire(key: ObjectName) -> str:
    return text(key, "key") if isinstance(key, str) else format_key(key)
