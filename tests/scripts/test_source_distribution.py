# SPDX-License-Identifier: Apache-2.0
"""The source distribution has all that `make` needs: whoever unpacks it can run, test and check what is in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Targets that make what they name, or that need a commit.
TARGETS = ("run", "test", "check", "conformance", "bench")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    return unpacked


@pytest.mark.skipif(shutil.which("make") is None, reason="make is needed")
@pytest.mark.parametrize("target", TARGETS)
def test_make_finds_what_its_targets_depend_on(unpacked: Path, target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=unpacked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_file_that_the_makefile_names_is_there(unpacked: Path) -> None:
    named = set(
        re.findall(r"(?<![\w./])(?:scripts|examples|requirements)/[\w./-]+\w", (unpacked / "Makefile").read_text())
    )
    assert {"scripts/install.sh", "requirements/dev.lock", "examples/quickstart/cluster.yaml"} <= named
    assert [name for name in sorted(named) if not (unpacked / name).exists()] == []


def test_the_package_index_lists_the_systems_where_all_commands_run(unpacked: Path) -> None:
    """`run` and `bench` need Unix."""
    described = (unpacked / "PKG-INFO").read_text().splitlines()
    systems = [line.partition(" :: ")[2] for line in described if line.startswith("Classifier: Operating System ::")]
    assert systems == ["MacOS", "POSIX :: Linux"]


def test_scripts_that_others_read_are_there(unpacked: Path) -> None:
    read = {
        name for script in (ROOT / "scripts").glob("*.sh") for name in re.findall(r'/([\w.]+\.sh)"', script.read_text())
    }
    assert "retry.sh" in read
    assert [name for name in sorted(read) if not (unpacked / "scripts" / name).exists()] == []
