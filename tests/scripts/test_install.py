# SPDX-License-Identifier: Apache-2.0
"""Installation says what it installs, and does not silence the installer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.lockfile import ROOT, read_lock

#: Stands for uv and for the interpreter of the environment: prints how it was called.
FAKE = """#!/bin/sh
case "$*" in
venv*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*) echo "called: $*" ;;
esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for part in ("scripts/install.sh", "scripts/locked_tools.sh", "scripts/retry.sh", "requirements/dev.lock"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, tmp_path / part)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(FAKE)
    uv.chmod(0o755)
    return tmp_path


def run(clone: Path, *command: str) -> list[str]:
    environment = {**os.environ, "PATH": f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run(["sh", *command], cwd=clone, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_installing_says_what_goes_where_before_it_begins_and_shows_the_output_of_the_installer(clone: Path) -> None:
    lines = run(clone, "scripts/install.sh")
    packages = len(read_lock(ROOT / "requirements" / "dev.lock"))
    assert lines[0].startswith(f"install: {packages} packages of requirements/dev.lock, and Steersman, go into .venv")
    installs = [line for line in lines if line.startswith("called: pip install")]
    assert len(installs) == 2
    assert not any("--quiet" in line for line in installs)


def test_installing_tools_says_what_goes_where(clone: Path) -> None:
    (clone / ".venv-docs" / "bin").mkdir(parents=True)
    shutil.copy(clone / "bin" / "uv", clone / ".venv-docs" / "bin" / "python")
    lines = run(clone, "scripts/locked_tools.sh", ".venv-docs", "requirements/dev.lock")
    assert "packages of requirements/dev.lock go into .venv-docs" in lines[0]
    assert "--quiet" not in lines[1]


def test_a_part_of_the_tests_can_be_run() -> None:
    command = [
        "make",
        "--no-print-directory",
        "--dry-run",
        "--assume-old=.venv/.installed",
        "test",
        "TESTS=tests/queue",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].endswith("--dist worksteal tests/queue")
