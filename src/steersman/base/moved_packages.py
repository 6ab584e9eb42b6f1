# SPDX-License-Identifier: Apache-2.0
"""Import paths of earlier releases: `steersman.sim.report` is the module
`steersman.simulation.report`.

Imported by `steersman` itself, so that code written for an earlier release keeps working, with a
`DeprecationWarning` that names the new path. An old and a new path give the same module object.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

ROOT: Final = "steersman."
MOVED: Final = {
    "controllers": "cluster.controllers",
    "embedded": "cluster.store",
    "explain.why": "explain",
    "fixes": "explain.fixes",
    "kubelets": "cluster.kubelets",
    "report": "base.report",
    "scenario": "simulation.scenario",
    "sim": "simulation",
    "run.live": "explain.live",
    "sweep": "simulation.sweep",
    "why": "explain",
}


class MovedPackages(MetaPathFinder, Loader):
    """Finder that resolves old import paths.

    It comes first, because a moved package has a `__path__` in which
    the standard finder would find the modules a second time.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if _new_path(fullname) is None else ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = _new_path(spec.name)
        assert new is not None, "find_spec has found it"
        module = import_module(new)
        warnings.warn(f"{spec.name} is now {new}", DeprecationWarning, stacklevel=2)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has replaced by that of the old
        path."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def _new_path(path: str) -> str | None:
    """Return the new path of a module; None if neither it nor a package above it has moved."""
    old, rest = path.removeprefix(ROOT), ""
    while old and path.startswith(ROOT):
        if old in MOVED:
            return f"{ROOT}{MOVED[old]}{rest}"
        old, dot, last = old.rpartition(".")
        rest = f"{dot}{last}{rest}"
    return None


def install() -> None:
    sys.meta_path.insert(0, MovedPackages())
