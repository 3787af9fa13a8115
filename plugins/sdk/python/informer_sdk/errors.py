"""The errors of calls to the host, and those that a plugin raises to say what happens next."""

from __future__ import annotations

import inspect
import math
import re
import traceback
from pathlib import PurePosixPath
from typing import Any, Callable, Optional, TypeVar

from componentize_py_types import Err

from ._types import types

T = TypeVar("T")

# Halves of characters, which texts of Python may have, for example of JSON with the escape \ud83d. UTF-8 has none.
_HALVES = re.compile("[\ud800-\udfff]")

_CAUSES = 8
_MOST_MILLIS = 0xFFFF_FFFF


class HostError(Exception):
    """A call to the host failed.

    If a handler does not catch it, the notification is delivered again after the backoff of the plugin.
    """

    code: str
    """The kind of the failure: `unknown-resource`, `not-granted`, `stale-token`, `stale-page`, `invalid`, `too-large`, `limit-exceeded`
    or `internal`; of key-values and configuration `no-such-store`, `access-denied`, `upstream`, `io` or `other`; of HTTP requests
    `http-request-denied`, and what `http.request` says."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class ApiError(HostError):
    """A request to the API server was refused or failed.

    `code` is one of `not-granted`, `bad-argument`, `limit-exceeded`, `too-large`, `invalid`, `unauthorized`, `forbidden`, `not-found`,
    `already-exists`, `conflict`, `gone`, `too-many-requests`, `timeout`, `unavailable` and `internal`.
    """

    status: int
    """The HTTP status, or 0 if there was no answer."""

    retry_after: Optional[float]
    """The seconds after which the server, or the limit of the plugin, accepts another request. A handler that does not catch the error is
    called again after this time."""

    def __init__(self, code: str, text: str, status: int = 0, retry_after: Optional[float] = None) -> None:
        super().__init__(code, text)
        self.status = status
        self.retry_after = retry_after


class PermanentError(Exception):
    """Another attempt cannot help.

    The notification, the key or the signal of the call becomes a dead letter at once. The key is reconciled again when it is added
    again, for example because its object changes.
    """


class RetryAfter(Exception):
    """Another attempt may help after a time.

    The host has no such failure for reconcilers: if a reconciler raises this error, the SDK logs a warning, and the key is reconciled
    again after the time. This does not count as a failed attempt.
    """

    seconds: float
    """The time until the next attempt, in seconds. For a notification the host waits at least `min` of `[plugin.retry]`, and at most one
    day."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds
        millis(seconds, "seconds")


def call(function: Callable[..., T], *args: Any) -> T:
    """Calls a function of the host. What it raises becomes a `HostError` or an `ApiError`."""
    try:
        return function(*args)
    except Err as refused:
        value = refused.value
    raise _typed(value)


def _typed(value: Any) -> HostError:
    """The error of a host call as a class: of a record with a code, or of a variant such as `Error_NoSuchStore`."""
    if hasattr(value, "status"):
        after = value.retry_after_ms
        return ApiError(_word(value.code.name), value.message, value.status, None if after is None else after / 1000)
    if hasattr(value, "code"):
        return HostError(_word(value.code.name), value.message)
    name = type(value).__name__
    words = "".join(f"_{c}" if c.isupper() else c for c in name.rpartition("_")[2]).lstrip("_")
    return HostError(_word(words), str(getattr(value, "value", "the host refused the call")))


def _word(name: str) -> str:
    return name.lower().replace("_", "-")


def describe(error: BaseException) -> str:
    """The text of an exception: its class, message and stack without the frames of the SDK, and those of its causes."""
    parts: list[str] = []
    seen: Optional[BaseException] = error
    while seen is not None and len(parts) < _CAUSES:
        lines = [f"{type(seen).__name__}: {_message(seen)}"]
        for frame in traceback.extract_tb(seen.__traceback__):
            path = PurePosixPath(frame.filename)
            if path.parent.name != "informer_sdk":
                lines.append(f'  File "{path.name}", line {frame.lineno}, in {frame.name}')
        parts.append("\n".join(lines))
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return whole("\ncaused by ".join(parts))


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as other:
        # An exception here would replace the failure by a trap.
        return f"(its text raises {type(other).__name__})"


def whole(found: str) -> str:
    """A text for people, in which a replacement character stands for each half of a character, with which the runtime would end the call
    with a trap."""
    return _HALVES.sub("\ufffd", found)


def after(error: BaseException) -> Optional[int]:
    """The time until the next attempt that an exception asks for, in milliseconds."""
    if isinstance(error, RetryAfter):
        seconds: Optional[float] = error.seconds
    else:
        # An exception of another library may have an attribute of the same name.
        seconds = error.retry_after if isinstance(error, ApiError) else None
    return None if seconds is None else millis(seconds, "seconds")


def failure(error: BaseException) -> Any:
    """The `failure` of the interface for an exception."""
    wait, why = after(error), describe(error)
    if isinstance(error, PermanentError):
        return types.Failure_Permanent(why)
    return types.Failure_Retry(why) if wait is None else types.Failure_RetryAfter((why, wait))


def settled(result: T, name: str) -> T:
    """Checks the result of a function of the plugin, and returns the result. Raises if the result is a coroutine or a generator: the host
    waits for neither, so the code does not run."""
    if inspect.isawaitable(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            # Without this call, Python warns that the coroutine was never awaited.
            result.close()
        raise PermanentError(f"{name} is async, so its code does not run: functions are synchronous, so remove `async` and `await`")
    if inspect.isgenerator(result):
        raise PermanentError(f"{name} is a generator, so its code does not run: remove `yield`")
    return result


def millis(seconds: float, name: str) -> int:
    """A time in whole milliseconds, rounded up, so that a short time does not become zero."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise TypeError(f"{name} is no time in seconds: {seconds!r}")
    return _MOST_MILLIS if seconds * 1000 > _MOST_MILLIS else math.ceil(seconds * 1000)


def text(value: Any, name: str) -> str:
    """Checks an argument that the host receives as text. The runtime would end the call with a trap."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is no string: {value!r}")
    if _HALVES.search(value):
        raise TypeError(f"{name} has half of a character: {value!r}")
    return value


def count(value: Any, name: str) -> int:
    """Checks a whole number that is not negative and has at most 32 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 0xFFFF_FFFF:
        raise TypeError(f"{name} is no whole number from 0 to 4294967295: {value!r}")
    return value
