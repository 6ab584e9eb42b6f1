# SPDX-License-Identifier: Apache-2.0
"""Steersman as pip installs it: the files of a wheel, in a folder of their own, and commands that see nothing of the clone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

from scripts.lockfile import ROOT

from scripts import web_page


def unpacked_wheel(folder: Path) -> Path:
    """Builds a wheel and unpacks it; dependencies are those of the interpreter that runs the tests."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = {**os.environ, web_page.SKIP: "1"}  # Node would be needed; a page that is there is taken
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


class InstalledProgram(NamedTuple):
    """A folder with the commands `steersman` and `pytest`, and the environment in which it and Python find the wheel."""

    programs: Path
    environment: dict[str, str]


def installed_program(folder: Path) -> InstalledProgram:
    """What is there after `pip install`, without a second environment: dependencies are those of the tests."""
    site = unpacked_wheel(folder)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(site)], check=True)  # as pip does
    programs = folder / "bin"
    programs.mkdir()
    for name in ("steersman", "pytest"):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} -P -m {name} "$@"\n')
        (programs / name).chmod(0o755)
    return InstalledProgram(programs, {"PYTHONPATH": str(site)})


def environment_of(site: Path) -> dict[str, str]:
    """In which `import steersman` finds the unpacked wheel, before the clone, and leaves it as it is."""
    return {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}


def run_installed(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`steersman …` of the wheel, in a folder."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "steersman", *arguments],
        cwd=folder,
        env=environment_of(site),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
