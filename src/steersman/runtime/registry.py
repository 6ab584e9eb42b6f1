# SPDX-License-Identifier: Apache-2.0
"""Every plugin that a configuration may name: the in-tree ones, installed packages, and single files.

A package offers plugins through entry points of the group ``steersman.plugins``; `--plugin file.py` offers every plugin
class that the file defines. A name is taken once. Plugins run with the scheduler's rights, so that being installed is not
enough: an entry point is imported when its plugin is asked for by name, and not before.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType

from steersman.framework import plugin as points
from steersman.framework.handle import Handle
from steersman.plugins.in_tree import Factory
from steersman.runtime.faults import PluginError, told

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "steersman.plugins"

#: Extension points in configuration spelling, by the base class that says a plugin takes part.
POINT_OF_CLASS: Mapping[type[points.Plugin], str] = {
    points.PreEnqueuePlugin: "preEnqueue",
    points.QueueSortPlugin: "queueSort",
    points.PreFilterPlugin: "preFilter",
    points.FilterPlugin: "filter",
    points.PostFilterPlugin: "postFilter",
    points.PreScorePlugin: "preScore",
    points.ScorePlugin: "score",
    points.ReservePlugin: "reserve",
    points.PermitPlugin: "permit",
    points.PreBindPlugin: "preBind",
    points.BindPlugin: "bind",
    points.PostBindPlugin: "postBind",
}


class Registry:
    """Plugin factories by name, and where each came from."""

    def __init__(self, factories: Mapping[str, Factory]) -> None:
        self._factories: dict[str, Factory] = dict(factories)
        self._origins = dict.fromkeys(self._factories, "steersman")
        #: By name, those that nobody has asked for yet. Several packages may offer the same name.
        self._installed: dict[str, list[EntryPoint]] = {}
        #: The files that were given, in order.
        self.files: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._factories or name in self._installed

    def __iter__(self) -> Iterator[str]:
        """All names, those of plugins that were not imported included."""
        return iter(dict.fromkeys([*self._factories, *self._installed]))

    def add(self, name: str, factory: Factory, origin: str) -> None:
        if not name:
            raise PluginError(f"{origin}: plugin class {factory.__name__} has no name; set the class attribute `name`")
        if name in self._factories:
            raise PluginError(f'{origin}: plugin name "{name}" is taken by {self._origins[name]}')
        self._installed.pop(name, None)
        self._factories[name] = factory
        self._origins[name] = origin

    def add_file(self, path: Path) -> list[str]:
        """Every plugin class that the file defines; their names."""
        classes = list(_plugin_classes(load_module(path)))
        if not classes:
            raise PluginError(
                f"{path}: no plugin found; expected a class that derives from, say, steersman.framework.ScorePlugin"
            )
        for cls in classes:
            self.add(cls.name, cls, str(path))
        self.files.append(str(path.resolve()))
        return [cls.name for cls in classes]

    def add_entry_points(self, found: Iterable[EntryPoint] | None = None) -> None:
        """Plugins of installed packages: the entry point's name is the plugin's. Nothing is imported. One with a name that is
        taken already is passed over: what was given or ships with Steersman cannot be replaced by installing something."""
        for entry in entry_points(group=ENTRY_POINT_GROUP) if found is None else found:
            if entry.name in self._factories:
                logger.warning("%s is passed over: the name is taken by %s", _origin(entry), self._origins[entry.name])
            else:
                self._installed.setdefault(entry.name, []).append(entry)

    def _factory(self, name: str) -> Factory | None:
        """Imports the plugin if that has not been done; None: there is none of this name."""
        if name in self._installed:
            self.add(name, *_imported(name, self._installed[name]))
        return self._factories.get(name)

    def points_of(self, name: str) -> frozenset[str]:
        """The extension points that the plugin takes part in."""
        factory = self._factory(name)
        if not isinstance(factory, type):
            raise PluginError(f'{self._origins[name]}: plugin "{name}" is not a class')
        return frozenset(point for base, point in POINT_OF_CLASS.items() if issubclass(factory, base))

    def class_of(self, name: str) -> type:
        """The plugin's class, whose attributes say what it needs; imports it if that has not been done."""
        factory = self._factory(name)
        return factory if isinstance(factory, type) else object

    def make(self, name: str, args: object, handle: Handle) -> object:
        factory = self._factory(name)
        if factory is None:
            raise PluginError(f'plugin "{name}" does not exist; known: {", ".join(sorted(self))}')
        try:
            return factory(args, handle) if _takes_arguments(factory) else factory()
        except PluginError:
            raise
        except Exception as cause:
            raise PluginError(f'{self._origins[name]}: initializing plugin "{name}": {told(cause)}') from cause


def _imported(name: str, offers: Sequence[EntryPoint]) -> tuple[Factory, str]:
    """The plugin of an installed package, and where it came from."""
    first, *others = offers
    if others:
        raise PluginError(f'plugin name "{name}" is offered more than once: {"; ".join(map(_origin, offers))}')
    try:
        factory: Factory = first.load()
    except Exception as cause:
        raise PluginError(f"{_origin(first)}: {told(cause)}") from cause
    return factory, _origin(first)


def _origin(entry: EntryPoint) -> str:
    return f"entry point {entry.name} = {entry.value}"


class _FreshSource(SourceFileLoader):
    """Compiles a file whenever it is loaded, and leaves nothing beside it.

    Python tells byte code that is out of date by the second of the last change and by the size: a plugin that is edited and
    loaded again within a second might be the old one.
    """

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def load_module(path: Path) -> ModuleType:
    """Runs a Python file as a module of its own."""
    name = f"steersman_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"{path}: not a Python file that can be read")
    if isinstance(spec.loader, SourceFileLoader):
        spec.loader = _FreshSource(name, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as cause:
        raise PluginError(f"{path}: {told(cause)}") from cause
    return module


def load_module_once(path: Path) -> None:
    """Runs the file unless this process has done so: for objects that come from another process and name its classes."""
    module = sys.modules.get(f"steersman_plugin_{path.stem}")
    if module is None or Path(module.__file__ or "").resolve() != path:
        load_module(path)


def _plugin_classes(module: ModuleType) -> Iterator[type[points.Plugin]]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, points.Plugin) and value.__module__ == module.__name__:
            yield value


def _takes_arguments(factory: Factory) -> bool:
    if isinstance(factory, type) and not any(
        {"__init__", "__new__"} & vars(base).keys() for base in factory.__mro__[:-1]
    ):
        return False  # to read that from the text of `object` takes `inspect` longer than to make all plugins
    return len(inspect.signature(factory).parameters) > 0
