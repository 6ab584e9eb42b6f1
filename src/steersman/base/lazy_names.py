# SPDX-License-Identifier: Apache-2.0
"""Public names of a package that are imported from its modules when they are first used.

The `__init__` of a package gives `lazy_exports` its public names by module. Importing one name then
loads one module, so that commands start quickly. `python -m scripts.package_doors --fix` writes
this table, and generates from it the `__init__.pyi` that type checkers read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(
    package: str, names_by_module: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `names_by_module` has the names that each module exports, separated by spaces; modules are named
    relative to the package.
    """
    modules = {name: module for module, names in names_by_module.items() for name in names.split()}
    exported = sorted(modules)
    namespace = vars(sys.modules[package])

    def get_attribute(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(f"{package}.{module}"), name)
        return value

    def list_attributes() -> list[str]:
        return sorted({*namespace, *exported})

    return get_attribute, list_attributes, exported
