"""What the modules of a plugin use of the SDK: `python -m informer_sdk._used FOLDER` prints it as JSON, for `informer build`.

`modules` are the modules of the SDK that the component must contain. `interfaces` are those that it must import, or `null` for those of
its whole world, if a module uses the bindings itself. `exports` are the names that the source of the module `app` has, without those of an
`import *`: a component exports `BatchHandler`, `SyncHandler`, `TimerHandler` and `ConfigHandler` if they are among them.
"""

import ast
import json
import sys
from pathlib import Path
from typing import Iterator, List, Optional, Set, Tuple

# This module does not import the SDK, which needs the bindings of a component.
_PLUGIN = "informer:plugin/{}@0.2.0"
_INTERFACES = {
    "client": [_PLUGIN.format("client")],
    "config": ["wasi:config/store@0.2.0-rc.1"],
    "delivery": [_PLUGIN.format("delivery")],
    "http": ["wasi:http/outgoing-handler@0.2.12"],
    "keyvalue": ["wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/atomics@0.2.0-draft"],
    "lister": [_PLUGIN.format("lister")],
    "metrics": [_PLUGIN.format("metrics")],
    "timer": [_PLUGIN.format("timer")],
    "workqueue": [_PLUGIN.format("workqueue")],
}
_ALWAYS = [_PLUGIN.format("log"), _PLUGIN.format("objects")]
# With this option the SDK reads the number of the attempt.
_NEEDS_DELIVERY = "ignore_own_writes"
_NEEDS_CLIENT = {"finalize", "metadata", "owner_reference", "set_owner"}


def used(folder: Path) -> Tuple[List[str], Optional[List[str]]]:
    """The modules and the interfaces that the sources below a folder use."""
    names: Set[str] = set()
    for source in sorted(folder.rglob("*.py")):
        # Syntax errors are reported by the build itself, which imports the module.
        try:
            names.update(_names(ast.parse(source.read_bytes())))
        except SyntaxError:
            continue
    if "*" in names:
        names.update(_INTERFACES)
    if _NEEDS_DELIVERY in names:
        names.remove(_NEEDS_DELIVERY)
        names.update(["delivery"] if names else [])
    if names & _NEEDS_CLIENT:
        names.add("client")
    modules = sorted(names & set(_INTERFACES))
    if not names or "wit_world" in names:
        return modules, None
    return modules, [*_ALWAYS, *(interface for module in modules for interface in _INTERFACES[module])]


def exports(folder: Path) -> List[str]:
    """The names that the module `app` assigns, defines or imports."""
    try:
        body = ast.parse(Path(folder, "app.py").read_bytes()).body
    except (OSError, SyntaxError):
        return []
    names: Set[str] = set()
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in statement.names)
        else:
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            names.update(node.id for node in stored)
    return sorted(names)


def _names(tree: ast.AST) -> Iterator[str]:
    """The names of the SDK that a module imports, `*` for all, `wit_world` for the bindings, and the option `ignore_own_writes`."""
    for node in ast.walk(tree):
        if _NEEDS_DELIVERY in (getattr(node, "arg", None), getattr(node, "attr", None), getattr(node, "value", None)):
            yield _NEEDS_DELIVERY
        # `import informer_sdk.client` makes all modules attributes of `informer_sdk`.
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "informer_sdk":
            yield node.attr
        if isinstance(node, ast.Import):
            for alias in node.names:
                package, _, module = alias.name.partition(".")
                if package == "informer_sdk":
                    yield module or "*"
                elif package == "wit_world":
                    yield package
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            package, _, module = node.module.partition(".")
            if package == "informer_sdk":
                yield from [module] if module else [alias.name for alias in node.names]
            elif package == "wit_world":
                yield package


if __name__ == "__main__":
    found, interfaces = used(Path(sys.argv[1]))
    print(json.dumps({"modules": found, "interfaces": interfaces, "exports": exports(Path(sys.argv[1]))}))
