# SPDX-License-Identifier: Apache-2.0
"""The public names of the package, and that they cost nothing until they are used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import steersman
from steersman import simulation as sim
from steersman.base.build_info import steersman_version
from steersman.scheduler import diagnosis as explain


def test_every_public_name_exists() -> None:
    for module in (steersman, sim, explain):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(steersman.__all__) <= set(dir(steersman))
    assert steersman.Simulation is sim.Simulation


def test_other_names_do_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Ghost'"):
        getattr(steersman, "Ghost")  # noqa: B009


def test_the_command_line_imports_nothing_heavy_until_a_command_runs() -> None:
    code = "import sys, steersman.cli; print([m for m in ('numpy', 'msgspec', 'yaml', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_the_version_is_that_of_the_installed_package() -> None:
    assert steersman.__version__ == steersman_version()
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", steersman.__version__)
    assert "__version__" in dir(steersman)
