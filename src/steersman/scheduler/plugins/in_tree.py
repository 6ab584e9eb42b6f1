# SPDX-License-Identifier: Apache-2.0
"""The classes of the in-tree plugins by name, collected from the modules of this package.

`steersman.config.plugins.in_tree` declares their names, extension points and arguments;
`runtime.registry` adds out-of-tree plugins.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from steersman.framework import Plugin
from steersman.scheduler import plugins

#: Creates a plugin from its arguments and the handle.
Factory = Callable[..., Any]


def plugin_classes(module: ModuleType) -> Iterator[type[Plugin]]:
    """Yield the plugin classes that a module or a module of a package defines, not imports."""
    for value in vars(module).values():
        is_plugin = isinstance(value, type) and issubclass(value, Plugin)
        if is_plugin and f"{value.__module__}.".startswith(f"{module.__name__}."):
            yield value


def _in_tree_classes() -> Iterator[type[Plugin]]:
    for found in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        if found.name != __name__:
            yield from plugin_classes(importlib.import_module(found.name))


IN_TREE: Mapping[str, Factory] = {found.name: found for found in _in_tree_classes()}
