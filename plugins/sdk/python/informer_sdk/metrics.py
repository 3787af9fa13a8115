"""Metrics of the plugin on `/metrics` of the host, with the label `plugin`."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple

from wit_world.imports import metrics as host

from .errors import call, text


def counter_add(name: str, value: float = 1, labels: Optional[Mapping[str, str]] = None) -> None:
    """Adds to a counter."""
    call(host.counter_add, text(name, "name"), _pairs(labels), float(value))


def gauge_set(name: str, value: float, labels: Optional[Mapping[str, str]] = None) -> None:
    """Sets a gauge."""
    call(host.gauge_set, text(name, "name"), _pairs(labels), float(value))


def histogram_observe(name: str, value: float, labels: Optional[Mapping[str, str]] = None) -> None:
    """Adds a value to a histogram."""
    call(host.histogram_observe, text(name, "name"), _pairs(labels), float(value))


def _pairs(labels: Optional[Mapping[str, str]]) -> List[Tuple[str, str]]:
    return [(text(name, "the name of a label"), text(value, f"the label {name}")) for name, value in (labels or {}).items()]
