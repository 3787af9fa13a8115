"""The exports of a plugin."""

from __future__ import annotations

import inspect
import json
import logging
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Callable, Container, Dict, Mapping, Optional, Sequence, TypeVar

from componentize_py_types import Err

from . import log
from .batch import answers
from .errors import PermanentError, after, describe, failure, millis, settled
from .objects import KubeObject
from .own_writes import is_own_write

F = TypeVar("F", bound=Callable[..., Any])

_SDK = "informer-sdk for Python 0.1.0"

# The functions that the host calls after the start, with the classes of their interfaces.
_CLASSES = {
    "on_add": "Handler",
    "on_update": "Handler",
    "on_delete": "Handler",
    "on_batch": "BatchHandler",
    "reconcile": "Reconciler",
    "on_synced": "SyncHandler",
    "on_timer": "TimerHandler",
    "on_config": "ConfigHandler",
}


@dataclass(frozen=True)
class Requeue:
    """What a reconciler returns for a key that is reconciled again: after its backoff, which grows each time, or after some seconds."""

    after: Optional[float] = None


@dataclass(frozen=True)
class Synced:
    """The cache of a subscription is complete."""

    gvr: str
    """The resource, for example `apps/v1/deployments`."""
    count: int
    """The number of objects that the subscription selected when its cache was complete."""
    resource_version: str
    """The version of the collection that the cache had reached. It is empty if the host watches several namespaces whose versions have no
    order."""


class App:
    """A plugin: functions that the host calls, which are registered by decorators.

    If a function raises, the call has failed, and the host delivers the notification again after a backoff. Raise a `PermanentError` for
    a dead letter, or a `RetryAfter` to choose the time. Functions are synchronous.

    The names that the world exports must exist in the module: `Plugin, Handler = app.Plugin, app.Handler`. A plugin with `on_batch` has
    `BatchHandler` instead of `Handler`, in the world `batch-event-handler` of informer-plugin.toml. A plugin has `SyncHandler`,
    `TimerHandler` and `ConfigHandler` too if it has `on_synced`, `on_timer` and `on_config`.
    """

    def __init__(self, name: str = "", version: str = "", *, ignore_own_writes: bool = False) -> None:
        """With `ignore_own_writes`, an update is left out if this instance has written the version.

        It is not left out at a second attempt, and with the causes `resync` and `replay`, because an earlier attempt may have written the
        version and failed afterwards. A version that is left out may also contain a change of another client, which merged with the own
        change.
        """
        self.name = name
        self.version = version
        self.ignore_own_writes = ignore_own_writes
        self._functions: Dict[str, Callable[..., Any]] = {}
        if ignore_own_writes:
            # Its interface must be in the component, and a module cannot be imported when the component runs.
            import_module(".delivery", __package__)
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

    def on_batch(self, function: F) -> F:
        """`on_batch(notifications)`: several notifications in one call, instead of the three above. `notifications` is a list of
        `Notification`. It returns one outcome for each, in their order: `None`, an `Again`, or an exception. The module has
        `BatchHandler = app.BatchHandler`."""
        return self._register("on_batch", function)

    def reconcile(self, function: F) -> F:
        """`reconcile(key)`: an object with this key has changed. It returns `None` if the key is done, or a `Requeue`."""
        return self._register("reconcile", function)

    def on_synced(self, function: F) -> F:
        """`on_synced(synced)`: the cache of a subscription is complete, and its objects have been delivered, also if there are none.
        `synced` is a `Synced`. The module has `SyncHandler = app.SyncHandler`."""
        return self._register("on_synced", function)

    def on_timer(self, function: F) -> F:
        """`on_timer(name)`: a timer fires, one of `[[plugin.timer]]` or of `timer.after`. The module has
        `TimerHandler = app.TimerHandler`."""
        return self._register("on_timer", function)

    def on_config(self, function: F) -> F:
        """`on_config(config)`: a file of `config-files` changed; `config` is what `start` would get now. The host calls it in one
        instance. The module has `ConfigHandler = app.ConfigHandler`."""
        return self._register("on_config", function)

    def __getattr__(self, name: str) -> Any:
        """A decorator that is misspelt would register nothing."""
        known = (
            "start, stop, on_add, on_update, on_delete, on_batch, reconcile, on_synced, on_timer, on_config, Plugin, Handler, "
            "BatchHandler, Reconciler, SyncHandler, TimerHandler and ConfigHandler"
        )
        raise AttributeError(f"an App has no `{name}`; it has {known}")

    def _check_called(self, uncalled: Mapping[str, Sequence[str]]) -> None:
        """Raises if the plugin has registered a function that the host would never call. `uncalled` maps the names of such functions to a
        class and a reason. The build calls this method."""
        for function in self._functions:
            if function in uncalled:
                raise TypeError(f"@app.{function} is registered, and the host would never call it: {uncalled[function][1]}")

    def _check_exports(self, names: Container[str]) -> None:
        """Raises if the component does not export the class of a function, because the host would never call this function. `names` are the
        classes that the component exports. The build does not find an optional class that `src/app.py` has from an `import *`. The build
        calls this method."""
        for function, name in _CLASSES.items():
            if function in self._functions and name not in names:
                raise TypeError(f"@app.{function} is registered, and src/app.py has no `{name} = app.{name}`")

    def _register(self, name: str, function: F) -> F:
        if name in self._functions:
            raise TypeError(f"{name} is registered twice")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{name} is async: functions are synchronous, so remove `async` and `await`")
        if inspect.isgeneratorfunction(function):
            # A call of it returns at once and does nothing.
            raise TypeError(f"{name} is a generator: remove `yield`")
        self._functions[name] = function
        return function

    def _call(self, name: str, *args: Any) -> Any:
        function = self._functions.get(name)
        # A lambda may call an async function, whose code would not run.
        return None if function is None else settled(function(*args), name)

    def _configured(self, name: str, config: str) -> None:
        self._call(name, json.loads(config) if config.strip() else {})

    def _needs(self, *names: str) -> None:
        if not any(name in self._functions for name in names):
            decorators = " or ".join(f"@app.{name}" for name in names)
            raise TypeError(f"no function is registered: use {decorators} before this line")

    def _deliver(self, name: str, obj: Any, cause: Any, old: Optional[int] = None) -> None:
        found, word = KubeObject(obj.gvr, obj.meta, obj.id), cause.name.lower()
        if name not in self._functions or (old is not None and self._ignores(found, word)):
            return
        before = () if old is None else (KubeObject.before(old),)
        self._call(name, *before, found, word)

    def _ignores(self, found: KubeObject, cause: str) -> bool:
        """An attempt may write and fail afterwards. The notification of the write merges into the failed one, which keeps its number of
        attempts: only a first attempt has no work left."""
        if not self.ignore_own_writes or cause not in ("live", "relist") or not is_own_write(found):
            return False
        return import_module(".delivery", __package__).current().attempt == 1

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
                    app._configured("start", config)
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
        self._needs("on_add", "on_update", "on_delete")
        app = self

        class Handler:
            @_failing
            def on_add(self, obj: Any, cause: Any) -> None:
                app._deliver("on_add", obj, cause)

            @_failing
            def on_update(self, old: int, obj: Any, cause: Any) -> None:
                app._deliver("on_update", obj, cause, old)

            @_failing
            def on_delete(self, obj: Any, final_state_known: bool) -> None:
                app._call("on_delete", KubeObject(obj.gvr, obj.meta, obj.id), final_state_known)

        return Handler

    @property
    def BatchHandler(self) -> type:  # noqa: N802
        """The class for the interface `batch-handler`."""
        from wit_world.exports import batch_handler

        self._needs("on_batch")
        app = self

        class BatchHandler:
            def on_batch(self, notifications: Any) -> Any:
                log.begin()
                return answers(batch_handler, notifications, lambda batch: app._call("on_batch", batch))

        return BatchHandler

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
                        refused = reconciler.ReconcileError_Terminal if permanent else reconciler.ReconcileError_Retry
                        raise Err(refused(why)) from None
                # The interface has no failure with a time. The key comes again without a failure that is counted, so the reason
                # goes to the log.
                fields = {"key": key, "millis": wait, "error": why}
                logging.warning("the reconciler has failed, and is repeated after a time", extra=fields)
                return reconciler.Outcome_RequeueAfter(wait)

        return Reconciler

    @property
    def SyncHandler(self) -> type:  # noqa: N802
        """The class for the interface `sync-handler`."""
        self._needs("on_synced")
        app = self

        class SyncHandler:
            @_failing
            def on_synced(self, gvr: str, count: int, resource_version: str) -> None:
                app._call("on_synced", Synced(gvr, count, resource_version))

        return SyncHandler

    @property
    def TimerHandler(self) -> type:  # noqa: N802
        """The class for the interface `timer-handler`."""
        self._needs("on_timer")
        app = self

        class TimerHandler:
            @_failing
            def on_timer(self, name: str) -> None:
                app._call("on_timer", name)

        return TimerHandler

    @property
    def ConfigHandler(self) -> type:  # noqa: N802
        """The class for the interface `config-handler`."""
        self._needs("on_config")
        app = self

        class ConfigHandler:
            @_failing
            def on_config(self, config: str) -> None:
                app._configured("on_config", config)

        return ConfigHandler


def _failing(function: F) -> F:
    """Raises what the interface defines. Any other exception would end the call with a trap."""

    @wraps(function)
    def run(*args: Any) -> None:
        log.begin()
        try:
            function(*args)
        except Exception as error:
            raise Err(failure(error)) from None

    return run  # type: ignore[return-value]


def _outcome(reconciler: Any, result: Any) -> Any:
    if result is None:
        return reconciler.Outcome_Done()
    if not isinstance(result, Requeue):
        raise PermanentError(f"the reconciler has returned {result!r}: return None or a Requeue")
    if result.after is None:
        return reconciler.Outcome_Requeue()
    return reconciler.Outcome_RequeueAfter(millis(result.after, "after"))
