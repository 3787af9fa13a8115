"""Facts about the current call."""

from __future__ import annotations

from dataclasses import dataclass

from wit_world.imports import delivery as host

from .errors import call, millis


@dataclass(frozen=True)
class Delivery:
    """The current call."""

    attempt: int
    """The attempt, from 1 on."""
    queued: float
    """The time that the notification has waited, in seconds."""
    plugin: str
    """The name of the plugin in the configuration."""
    host_version: str


def current() -> Delivery:
    """The current call."""
    info = call(host.current)
    return Delivery(info.attempt, info.queued_ms / 1000, info.plugin, info.host_version)


def call_again(seconds: float) -> None:
    """Requests another call for the object of this call. The time begins when the handler returns without an exception.

    The host then delivers the object as a resync does: it calls `on_update` with the cause `resync`, and both the old and the new state
    are the state that the cache has then. Any other call for the object cancels the request, and may make a new one. A request survives
    the end of the instance and reloads of the plugin, but not a restart of the host: make it again in `on_add`.

    The host refuses it outside calls of handlers. A reconciler returns a `Requeue` instead.
    """
    call(host.call_again, millis(seconds, "seconds"))
