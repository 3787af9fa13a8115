"""Write plugins of informer in Python.

A plugin is an `App` with functions for its notifications::

    from informer_sdk import App

    app = App("hello")


    @app.on_add
    def added(obj, cause):
        print(f"hello {obj.key}")


    Plugin, Handler = app.Plugin, app.Handler

The modules `client`, `config`, `delivery`, `http`, `keyvalue`, `lister`, `log`, `metrics`, `timer` and `workqueue` are the interfaces of the
host. A component imports those that the plugin uses. Import them at the top of a module (`from informer_sdk import lister`): the component has
no files, so that an import in a function fails.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import client, config, delivery, http, keyvalue, lister, log, metrics, timer, workqueue
    from .app import App, Requeue, Synced
    from .batch import Again, Notification
    from .errors import ApiError, HostError, PermanentError, RetryAfter
    from .metadata import finalize, owner_reference, set_owner
    from .objects import Cause, KubeObject, ObjectKey, ObjectMeta, Owner, format_key, key_of, parse_key
    from .own_writes import is_own_write

__version__ = "0.1.0"

__all__ = [
    "Again",
    "ApiError",
    "App",
    "Cause",
    "HostError",
    "KubeObject",
    "Notification",
    "ObjectKey",
    "ObjectMeta",
    "Owner",
    "PermanentError",
    "Requeue",
    "RetryAfter",
    "Synced",
    "client",
    "config",
    "delivery",
    "finalize",
    "format_key",
    "http",
    "is_own_write",
    "key_of",
    "keyvalue",
    "lister",
    "log",
    "metrics",
    "owner_reference",
    "parse_key",
    "set_owner",
    "timer",
    "workqueue",
]

# The module of each name. A module is imported at the first use of its names, because it needs its interface in the component.
_MODULES = {
    "Again": "batch",
    "ApiError": "errors",
    "App": "app",
    "Cause": "objects",
    "HostError": "errors",
    "KubeObject": "objects",
    "Notification": "batch",
    "ObjectKey": "objects",
    "ObjectMeta": "objects",
    "Owner": "objects",
    "PermanentError": "errors",
    "Requeue": "app",
    "RetryAfter": "errors",
    "Synced": "app",
    "finalize": "metadata",
    "format_key": "objects",
    "is_own_write": "own_writes",
    "key_of": "objects",
    "owner_reference": "metadata",
    "parse_key": "objects",
    "set_owner": "metadata",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    elif name in __all__:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
