"""Settings: `[plugin.config]` and the files of `config-files`, as text.

`a.b` is the value at `b` in the table `a`; a file has its name. The start function of the plugin receives `[plugin.config]` parsed, so
that this module is of use for mounted files.
"""

from __future__ import annotations

from typing import Dict, Optional

from .errors import call, text

try:
    # The name that the interface has in a component that has other interfaces with the name `store` too.
    from wit_world.imports import wasi_config_store as store
except ImportError:
    from wit_world.imports import store


def get(name: str, default: Optional[str] = None) -> Optional[str]:
    """A setting, or the default. A value that is no text is JSON."""
    found = call(store.get, text(name, "name"))
    return default if found is None else found


def all() -> Dict[str, str]:  # noqa: A001
    """All settings."""
    return dict(call(store.get_all))
