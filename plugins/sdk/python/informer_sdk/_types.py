"""The types of the interface. Their module has a longer name if the world has types of another interface too, such as `wasi:http`."""

try:
    from wit_world.imports import informer_plugin_types as types
except ImportError:
    from wit_world.imports import types

__all__ = ["types"]
