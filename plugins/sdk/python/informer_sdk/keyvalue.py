"""Key-values that survive reloads and restarts of the host. They need the grant `keyvalue`. A write that returned is on disk."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Iterator, Optional, Type

from wit_world.imports import atomics

from .errors import call, text

try:
    # The name that the interface has in a component that has other interfaces with the name `store` too.
    from wit_world.imports import wasi_keyvalue_store as store
except ImportError:
    from wit_world.imports import store


class Bucket:
    """A bucket of key-values. Values are kept as JSON text. Use it in a `with` statement, or `close` it."""

    def __init__(self, name: str = "") -> None:
        self._bucket = call(store.open, text(name, "the name of the bucket"))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        found = self.get_bytes(key)
        return default if found is None else json.loads(found)

    def set(self, key: str, value: Any) -> None:
        """Keeps a value, which JSON can hold."""
        self.set_bytes(key, json.dumps(value, ensure_ascii=False).encode())

    def get_bytes(self, key: str) -> Optional[bytes]:
        """The bytes of a key, or `None`."""
        return call(self._bucket.get, text(key, "key"))

    def set_bytes(self, key: str, value: bytes) -> None:
        """Keeps bytes."""
        if not isinstance(value, bytes):
            raise TypeError(f"the value of {key} is no bytes")
        call(self._bucket.set, text(key, "key"), value)

    def delete(self, key: str) -> None:
        """Deletes a key. Nothing happens if there is none."""
        call(self._bucket.delete, text(key, "key"))

    def keys(self) -> Iterator[str]:
        """All keys, in the order of their bytes."""
        cursor = None
        while True:
            page = call(self._bucket.list_keys, cursor)
            yield from page.keys
            cursor = page.cursor
            if cursor is None:
                return

    def increment(self, key: str, delta: int = 1) -> int:
        """Adds to a whole number in one step, and returns the sum. A missing value counts as 0. `get` reads the number.

        `delta` is not negative and has at most 64 bits.
        """
        if isinstance(delta, bool) or not isinstance(delta, int) or not 0 <= delta < 2**64:
            raise TypeError(f"delta is no whole number from 0 to {2**64 - 1}: {delta!r}")
        return call(atomics.increment, self._bucket, text(key, "key"), delta)

    def close(self) -> None:
        """Gives the handle of the host back. The values stay."""
        self._bucket.__exit__(None, None, None)

    def __contains__(self, key: str) -> bool:
        return call(self._bucket.exists, text(key, "key"))

    def __enter__(self) -> Bucket:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def open(name: str = "") -> Bucket:  # noqa: A001
    """Opens a bucket, which is made if it is missing. It belongs to this plugin alone."""
    return Bucket(name)
