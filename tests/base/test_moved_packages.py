# SPDX-License-Identifier: Apache-2.0
"""Import paths that earlier documentation names keep working."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from steersman.base.moved_packages import MOVED


@pytest.mark.parametrize(("old", "new"), sorted(MOVED.items()))
def test_an_old_import_path_gives_the_module_of_the_new_one(old: str, new: str) -> None:
    module = import_module(f"steersman.{new}")
    sys.modules.pop(f"steersman.{old}", None)
    with pytest.warns(DeprecationWarning, match=f"steersman.{old} is now steersman.{new}"):
        found = import_module(f"steersman.{old}")
    assert found is module
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__ == f"steersman.{new}"


def test_modules_and_names_inside_a_moved_package_are_found() -> None:
    program = (
        "from steersman import why; from steersman.sim.report import simulation_report; "
        "from steersman.sim.simulation import Simulation as old; from steersman import Simulation as new; assert old is new"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "steersman.sim.report is now steersman.simulation.report" in done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_path_that_never_existed_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"steersman\.sim\.nothing|steersman\.simulation\.nothing"):
        import_module("steersman.sim.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"steersman\.nothing"):
        import_module("steersman.nothing")
