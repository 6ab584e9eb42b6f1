# SPDX-License-Identifier: Apache-2.0
"""The manager knows every controller, and the page about controllers describes each."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from scripts.lockfile import ROOT

from steersman.cluster import controllers
from steersman.cluster.controllers import CONTROLLERS, Controller


def named_controllers(kind: type[Controller] = Controller) -> Iterator[type[Controller]]:
    """Yield the subclasses that have a name of their own; the others are bases."""
    for found in kind.__subclasses__():
        if getattr(found, "NAME", "") and found.__module__.startswith("steersman."):
            yield found
        yield from named_controllers(found)


def test_every_controller_is_started_by_the_manager() -> None:
    for module in pkgutil.iter_modules(controllers.__path__, f"{controllers.__name__}."):
        importlib.import_module(module.name)
    missing = set(named_controllers()) - set(CONTROLLERS.values())
    assert not missing, f"add them to steersman/cluster/controllers/manager.py: {missing}"


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_has_a_row_in_the_documentation(name: str) -> None:
    table = (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8").partition("| controller |")[2]
    assert f"`{name}`" in table.partition("\n\n")[0], f"add `{name}` to the table in docs/controllers.md"


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_module_of_a_controller_is_named_in_the_documentation(name: str) -> None:
    module = CONTROLLERS[name].__module__.rpartition(".")[2]
    assert f"`{module}.py`" in (ROOT / "docs" / "controllers.md").read_text(encoding="utf-8")
