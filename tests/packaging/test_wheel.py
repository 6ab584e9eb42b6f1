# SPDX-License-Identifier: Apache-2.0
"""What a wheel brings works in an empty directory: `pip install steersman`, `pipx run steersman`, `uvx steersman`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packaging.wheels import run_installed, unpacked_wheel


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked_wheel(tmp_path_factory.mktemp("wheel"))


def test_a_bundled_example_is_simulated_in_an_empty_directory(site: Path, tmp_path: Path) -> None:
    done = run_installed(site, tmp_path, "simulate", "--example", "quickstart", "--seed", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "15 of 16 pods scheduled on 6 nodes" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_examples_are_copied_and_simulated(site: Path, tmp_path: Path) -> None:
    copied = run_installed(site, tmp_path, "examples", "copy", "quickstart", "plugins")
    assert copied.returncode == 0, copied.stderr
    assert "wrote quickstart/cluster.yaml" in copied.stdout
    done = run_installed(site, tmp_path, "simulate", "-f", "quickstart", "--plugin", "plugins/cheap_nodes.py")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_the_clone_but_the_package_and_examples_is_in_it(site: Path) -> None:
    assert {path.name for path in site.iterdir()} == {
        "steersman",
        *(path.name for path in site.glob("steersman-*.dist-info")),
        *(path.name for path in site.glob("steersman-*.data")),
    }
    assert list(site.rglob("__pycache__")) == []
    assert list(site.glob("steersman-*.data/data/share/man/man1/steersman.1"))
