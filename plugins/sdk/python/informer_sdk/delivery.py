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
    """Asks for another call for the object of this call, this time after the handler returns without an exception.

    `on_update` gets the object as the cache has it then, twice, with the cause `resync`. Any other call for the object ends the wait, and
    may ask anew. The wait survives instances and reloads, not the host: `on_add` may ask again.

    The host refuses it outside calls of handlers. A reconciler returns a `Requeue` instead.
    """
    call(host.call_again, millis(seconds, "seconds"))
