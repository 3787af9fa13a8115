"""The queue of keys of the plugin, for plugins with a reconciler.

A key is text; `namespace/name` by convention. It works as the workqueue of client-go: a key is in the queue once, and two workers never
have the same key.
"""

from __future__ import annotations

from wit_world.imports import workqueue as host

from .errors import call, millis, text
from .objects import ObjectName, format_key


def add(key: ObjectName) -> None:
    """Adds a key."""
    call(host.add, _wire(key))


def add_after(key: ObjectName, seconds: float) -> None:
    """Adds a key after a time."""
    call(host.add_after, _wire(key), millis(seconds, "seconds"))


def add_rate_limited(key: ObjectName) -> None:
    """Adds a key after the backoff of its failures, and counts one more failure."""
    call(host.add_rate_limited, _wire(key))


def forget(key: ObjectName) -> None:
    """Forgets the failures of a key."""
    call(host.forget, _wire(key))


def num_requeues(key: ObjectName) -> int:
    """The failures of a key since it was forgotten."""
    return call(host.num_requeues, _wire(key))


def length() -> int:
    """The number of keys that are ready."""
    return call(host.length)


def _wire(key: ObjectName) -> str:
    return text(key, "key") if isinstance(key, str) else format_key(key)
