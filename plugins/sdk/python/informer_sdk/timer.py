"""Timers that fire once, by name: the host calls `on_timer`, so a plugin that uses them has it.

A timer survives reloads of the plugin. It does not survive the host: set it again in `on_add` or `on_synced`.
"""

from __future__ import annotations

from wit_world.imports import timer as host

from .errors import call, millis, text


def after(name: str, seconds: float) -> None:
    """Sets a timer. If there is a timer of this name, the new time replaces the old one.

    The host refuses a name that is empty, longer than 512 bytes or the name of a `[[plugin.timer]]`, and more than 1,000 timers.
    """
    call(host.after, text(name, "name"), millis(seconds, "seconds"))


def cancel(name: str) -> None:
    """Removes a timer. Nothing happens if there is none."""
    call(host.cancel, text(name, "name"))
