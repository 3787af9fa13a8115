"""Facts about the current call."""

from __future__ import annotations

from dataclasses import dataclass

from wit_world.imports import delivery as host

from .errors import call


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
