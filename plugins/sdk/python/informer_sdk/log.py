"""`logging` writes to the log of the host. Importing the SDK adds a handler to the root logger.

`extra` gives the fields of a line, `exc_info` an error::

    logging.getLogger(__name__).warning("scaled", extra={"replicas": 3})

`print` reaches the log of the host too, without level and fields.
"""

from __future__ import annotations

import logging
from typing import Any, List, Optional, Tuple

from wit_world.imports import log as host

from .errors import describe, whole

TRACE = 5
"""The level below `logging.DEBUG`."""

Line = Tuple[Any, str, List[Tuple[str, str]]]

# Lines that were written while the modules were imported, which happens when the component is built. They go out at the first call.
_early: Optional[List[Line]] = []

# What a record has besides `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class HostHandler(logging.Handler):
    """Writes records to the log of the host."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record. A record that cannot be written fails no call, as with other handlers of `logging`."""
        try:
            self._write(record)
        except Exception:
            self.handleError(record)

    def _write(self, record: logging.LogRecord) -> None:
        level = _level(record.levelno)
        if _early is None and not host.enabled(level):
            return
        fields = [(whole(str(name)), whole(str(value))) for name, value in vars(record).items() if name not in _OWN]
        if record.name != "root":
            fields.append(("logger", whole(record.name)))
        if record.exc_info and record.exc_info[1] is not None:
            fields.append(("error", describe(record.exc_info[1])))
        line = (level, whole(record.getMessage()), fields)
        if _early is None:
            host.write(*line)
        else:
            _early.append(line)


def begin() -> None:
    """Begins to write to the host, which exists from the first call on."""
    global _early
    lines, _early = _early, None
    for line in lines or []:
        host.write(*line)


def install() -> None:
    """Adds the handler to the root logger, once. The host decides which levels it keeps."""
    root = logging.getLogger()
    if not any(isinstance(handler, HostHandler) for handler in root.handlers):
        root.addHandler(HostHandler())
        root.setLevel(TRACE)


def _level(number: int) -> Any:
    for least, level in ((40, host.Level.ERROR), (30, host.Level.WARN), (20, host.Level.INFO), (10, host.Level.DEBUG)):
        if number >= least:
            return level
    return host.Level.TRACE
