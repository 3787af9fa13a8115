"""The exports of a plugin."""

from __future__ import annotations

import inspect
import json
import logging
from dataclasses import dataclass
from functools import wraps
from typing import Any, Callable, Dict, Optional, TypeVar

from componentize_py_types import Err

from . import log
from .errors import PermanentError, after, describe, millis
from .objects import KubeObject
from .own_writes import is_own_write

F = TypeVar("F", bound=Callable[..., Any])

_SDK = "informer-sdk for Python 0.1.0"


@dataclass(frozen=True)
class Requeue:
    """What a reconciler returns for a key that is reconciled again: at once, or after some seconds."""

    after: Optional[float] = None


class App:
    """A plugin: functions that the host calls, which are registered by decorators.

    What a function raises is a failure, and the notification is delivered again after a backoff. Raise a `PermanentError` or a
    `RetryAfter` for something else. Functions are synchronous.

    The names that the world exports must exist in the module: `Plugin, Handler = app.Plugin, app.Handler`.
    """

    def __init__(self, name: str = "", version: str = "", *, ignore_own_writes: bool = False) -> None:
        """With `ignore_own_writes`, additions and updates are left out if this instance has written the version."""
        self.name = name
        self.version = version
        self.ignore_own_writes = ignore_own_writes
        self._functions: Dict[str, Callable[..., Any]] = {}
        log.install()

    def start(self, function: F) -> F:
        """`start(config)` is called once before anything else, with `[plugin.config]`. If it raises, the plugin does not start."""
        return self._register("start", function)

    def stop(self, function: F) -> F:
        """`stop()` is called before the instance ends, if there is time for it."""
        return self._register("stop", function)

    def on_add(self, function: F) -> F:
        """`on_add(obj, cause)`: an object is new."""
        return self._register("on_add", function)

    def on_update(self, function: F) -> F:
        """`on_update(old, obj, cause)`: an object has changed, or is delivered again."""
        return self._register("on_update", function)

    def on_delete(self, function: F) -> F:
        """`on_delete(obj, final_state_known)`: an object is gone, with its last known state."""
        return self._register("on_delete", function)

    def reconcile(self, function: F) -> F:
        """`reconcile(key)`: an object with this key has changed. It returns `None` if the key is done, or a `Requeue`."""
        return self._register("reconcile", function)

    def __getattr__(self, name: str) -> Any:
        """A decorator that is misspelt would register nothing."""
        known = "start, stop, on_add, on_update, on_delete, reconcile, Plugin, Handler and Reconciler"
        raise AttributeError(f"an App has no `{name}`; it has {known}")

    def _register(self, name: str, function: F) -> F:
        if name in self._functions:
            raise TypeError(f"{name} is registered twice")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{name} is async: functions are synchronous, so remove `async` and `await`")
        self._functions[name] = function
        return function

    def _call(self, name: str, *args: Any) -> Any:
        function = self._functions.get(name)
        return None if function is None else function(*args)

    def _needs(self, *names: str) -> None:
        if not any(name in self._functions for name in names):
            decorators = " or ".join(f"@app.{name}" for name in names)
            raise TypeError(f"no function is registered: use {decorators} before this line")

    def _deliver(self, name: str, obj: Any, cause: Any, old: Optional[int] = None) -> None:
        found = KubeObject(obj.gvr, obj.meta, obj.id)
        if name not in self._functions or (self.ignore_own_writes and is_own_write(found)):
            return
        before = () if old is None else (KubeObject.before(old),)
        self._call(name, *before, found, cause.name.lower())

    @property
    def Plugin(self) -> type:  # noqa: N802
        """The class for the interface `plugin`."""
        from wit_world.exports.plugin import Info

        app = self

        class Plugin:
            def describe(self) -> Any:
                return Info(app.name, app.version, _SDK)

            def start(self, config: str) -> None:
                log.begin()
                try:
                    app._call("start", json.loads(config) if config.strip() else {})
                except Exception as error:
                    raise Err(describe(error)) from None

            def stop(self) -> None:
                try:
                    app._call("stop")
                except Exception:
                    # The host does not repeat this call.
                    logging.warning("stop has failed", exc_info=True)

        return Plugin

    @property
    def Handler(self) -> type:  # noqa: N802
        """The class for the interface `handler`."""
        from wit_world.exports import handler

        self._needs("on_add", "on_update", "on_delete")
        app, failing = self, _failing(handler)

        class Handler:
            @failing
            def on_add(self, obj: Any, cause: Any) -> None:
                app._deliver("on_add", obj, cause)

            @failing
            def on_update(self, old: int, obj: Any, cause: Any) -> None:
                app._deliver("on_update", obj, cause, old)

            @failing
            def on_delete(self, obj: Any, final_state_known: bool) -> None:
                app._call("on_delete", KubeObject(obj.gvr, obj.meta, obj.id), final_state_known)

        return Handler

    @property
    def Reconciler(self) -> type:  # noqa: N802
        """The class for the interface `reconciler`."""
        from wit_world.exports import reconciler

        self._needs("reconcile")
        app = self

        class Reconciler:
            def reconcile(self, key: str) -> Any:
                log.begin()
                try:
                    return _outcome(reconciler, app._call("reconcile", key))
                except Exception as error:
                    wait, why = after(error), describe(error)
                    if wait is None:
                        permanent = isinstance(error, PermanentError)
                        failure = reconciler.ReconcileError_Terminal if permanent else reconciler.ReconcileError_Retry
                        raise Err(failure(why)) from None
                # The interface has no failure with a time. The key comes again without a failure that is counted, so the reason
                # goes to the log.
                fields = {"key": key, "millis": wait, "error": why}
                logging.warning("the reconciler has failed, and is repeated after a time", extra=fields)
                return reconciler.Outcome_RequeueAfter(wait)

        return Reconciler


def _failing(handler: Any) -> Callable[[F], F]:
    """Raises what the interface defines. Any other exception would end the call with a trap."""

    def decorate(function: F) -> F:
        @wraps(function)
        def run(*args: Any) -> None:
            log.begin()
            try:
                function(*args)
            except Exception as error:
                wait, why = after(error), describe(error)
                if isinstance(error, PermanentError):
                    failure = handler.Failure_Permanent(why)
                else:
                    failure = handler.Failure_Retry(why) if wait is None else handler.Failure_RetryAfter((why, wait))
                raise Err(failure) from None

        return run  # type: ignore[return-value]

    return decorate


def _outcome(reconciler: Any, result: Any) -> Any:
    if result is None:
        return reconciler.Outcome_Done()
    if not isinstance(result, Requeue):
        raise PermanentError(f"the reconciler has returned {result!r}: return None or a Requeue")
    if result.after is None:
        return reconciler.Outcome_Requeue()
    return reconciler.Outcome_RequeueAfter(millis(result.after, "after"))
