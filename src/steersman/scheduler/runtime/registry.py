# SPDX-License-Identifier: Apache-2.0
"""The registry of plugins: in-tree ones, installed packages, and single files.

Packages provide plugins through entry points of the group ``steersman.plugins``; `--plugin file.py`
provides every plugin class in the file. Names are unique. Plugins run with the scheduler's
permissions, so an installed entry point is only imported when its plugin is requested by name.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from steersman import framework
from steersman.config import ExtensionPoint
from steersman.framework import Handle, Plugin
from steersman.scheduler.plugins.in_tree import Factory, plugin_classes
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, PluginError, describe_fault

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "steersman.plugins"

#: Extension points by base class.
POINT_OF_CLASS: Mapping[type[Plugin], ExtensionPoint] = {
    getattr(framework, point.interface): point for point in ExtensionPoint
}

_METHODS: Mapping[str, type[Plugin]] = {
    next(iter(inspect.get_annotations(base) or vars(base))): base for base in POINT_OF_CLASS
} | {"refresh": framework.BackgroundPlugin, "events_to_register": framework.EnqueueExtensions}
"""Main method of each base class."""


class Registry:
    """Plugin factories by name, with their origin."""

    def __init__(self, factories: Mapping[str, Factory]) -> None:
        self._factories: dict[str, Factory] = dict(factories)
        self._origins = dict.fromkeys(self._factories, "steersman")
        #: Entry points not imported yet, by name. Several packages may provide the same name.
        self._installed: dict[str, list[EntryPoint]] = {}
        #: Added files, in order.
        self.files: list[str] = []
        #: Methods that are not called, because the plugin lacks their base class.
        self.notes: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._factories or name in self._installed

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names, including plugins that were not imported."""
        return iter(dict.fromkeys([*self._factories, *self._installed]))

    def add(self, name: str, factory: Factory, origin: str) -> None:
        if not name:
            raise PluginError(f"{origin}: plugin class {factory.__name__} has no name; set the class attribute `name`")
        if name in self._factories:
            raise PluginError(f'{origin}: plugin name "{name}" is taken by {self._origins[name]}')
        for method, base in _METHODS.items():
            if isinstance(factory, type) and hasattr(factory, method) and not issubclass(factory, base):
                remedy = f"derive {factory.__name__} from {base.__name__} too, or rename the method"
                self.notes.append(f'{origin}: plugin "{name}": method {method}() is not called; {remedy}')
                logger.warning("%s", self.notes[-1])
        self._installed.pop(name, None)
        self._factories[name] = factory
        self._origins[name] = origin

    def add_file(self, path: Path) -> list[str]:
        """Add every plugin class in the file, and return their names."""
        classes = list(plugin_classes(load_module(path)))
        if not classes:
            raise PluginError(
                f"{path}: no plugin found; expected a class that derives from, say, steersman.framework.ScorePlugin"
            )
        for cls in classes:
            self.add(cls.name, cls, str(path))
        self.files.append(str(path.resolve()))
        return [cls.name for cls in classes]

    def add_entry_points(self, found: Iterable[EntryPoint] | None = None) -> None:
        """Add plugins of installed packages by the names of their entry points, without importing
        them. Names already in use are skipped with a warning: installing a package cannot replace a
        plugin."""
        for entry in entry_points(group=ENTRY_POINT_GROUP) if found is None else found:
            if entry.name in self._factories:
                logger.warning("%s is skipped: the name is taken by %s", _origin(entry), self._origins[entry.name])
            else:
                self._installed.setdefault(entry.name, []).append(entry)

    def _factory(self, name: str) -> Factory | None:
        """Return the factory, imported on first use, or None."""
        if name in self._installed:
            self.add(name, *_imported(name, self._installed[name]))
        return self._factories.get(name)

    def points_of(self, name: str) -> frozenset[ExtensionPoint]:
        """Return the extension points that the plugin implements."""
        factory = self._factory(name)
        if not isinstance(factory, type):
            raise PluginError(f'{self._origins[name]}: plugin "{name}" is not a class')
        return frozenset(point for base, point in POINT_OF_CLASS.items() if issubclass(factory, base))

    def class_of(self, name: str) -> type:
        """Return the plugin's class, imported on first use."""
        factory = self._factory(name)
        return factory if isinstance(factory, type) else object

    def make(self, name: str, args: object, handle: Handle) -> object:
        factory = self._factory(name)
        if factory is None:
            raise PluginError(f'plugin "{name}" does not exist; known: {", ".join(sorted(self))}')
        declared = declared_args(factory)
        try:
            typed = args if declared is None else msgspec.convert({} if args is None else args, declared)
            return factory(typed, handle) if _takes_arguments(factory) else factory()
        except PluginError:
            raise
        except PLUGIN_FAULTS as cause:
            raise PluginError(
                f'{self._origins[name]}: initializing plugin "{name}": {describe_fault(cause)}'
            ) from cause


def declared_args(factory: object) -> type[msgspec.Struct] | None:
    """Return the type of arguments that a plugin class declares in `args`, or None."""
    declared = getattr(factory, "args", None)
    return declared if isinstance(declared, type) and issubclass(declared, msgspec.Struct) else None


def _imported(name: str, offers: Sequence[EntryPoint]) -> tuple[Factory, str]:
    """Return the plugin of an installed package, and its origin."""
    first, *others = offers
    if others:
        raise PluginError(f'plugin name "{name}" is offered more than once: {"; ".join(map(_origin, offers))}')
    try:
        factory: Factory = first.load()
    except PLUGIN_FAULTS as cause:
        raise PluginError(f"{_origin(first)}: {describe_fault(cause)}") from cause
    return factory, _origin(first)


def _origin(entry: EntryPoint) -> str:
    return f"entry point {entry.name} = {entry.value}"


class _FreshSource(SourceFileLoader):
    """Compiles a file whenever it is loaded, and writes no byte code.

    Python detects outdated byte code by the modification time in seconds and by the size, so that a
    plugin edited and loaded again within a second might be the old one.
    """

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def load_module(path: Path) -> ModuleType:
    """Execute a Python file as a module of its own."""
    name = f"steersman_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        reason = "does not exist" if not path.exists() else "is not a Python file, whose name ends in .py"
        raise PluginError(f"{path}: {reason}")
    if isinstance(spec.loader, SourceFileLoader):
        spec.loader = _FreshSource(name, str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except PLUGIN_FAULTS as cause:
        raise PluginError(f"{path}: {describe_fault(cause)}{_import_hint(path, cause)}") from cause
    return module


def _import_hint(path: Path, cause: BaseException) -> str:
    """Return how to make a module importable that a plugin file imports; "" for other faults."""
    if not isinstance(cause, ModuleNotFoundError) or not cause.name:
        return ""
    name = cause.name.partition(".")[0]
    if any((path.parent / beside).exists() for beside in (name, f"{name}.py")):
        return f"; set PYTHONPATH={shlex.quote(str(path.parent))}"
    return f"; install the package of {name} in the environment of Steersman"


def load_module_once(path: Path) -> None:
    """Execute the file unless this process has done so, to unpickle objects that refer to its
    classes."""
    module = sys.modules.get(f"steersman_plugin_{path.stem}")
    if module is None or Path(module.__file__ or "").resolve() != path:
        load_module(path)


def _takes_arguments(factory: Factory) -> bool:
    if isinstance(factory, type) and not any(
        {"__init__", "__new__"} & vars(base).keys() for base in factory.__mro__[:-1]
    ):
        return False  # `inspect` is slow for the signature of `object`
    return len(inspect.signature(factory).parameters) > 0
