# SPDX-License-Identifier: Apache-2.0
"""The plugin for krew: a manifest of the shape that krew takes, and a program that finds the package."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml
from tests.deploy.shipped import DEPLOY

KREW = DEPLOY / "krew"
PROGRAM = KREW / "kubectl-steersman"
VERSION = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["version"]


def manifest() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((KREW / "steersman.yaml").read_text())
    return document


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program, with the other programs of a folder and nothing else."""
    command = ["/bin/sh", str(PROGRAM), *arguments]
    return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, check=False, timeout=30)


def test_the_manifest_has_what_krew_asks_for() -> None:
    document = manifest()
    assert document["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (document["kind"], document["metadata"]["name"]) == ("Plugin", "steersman")
    spec = document["spec"]
    assert spec["version"] == f"v{VERSION}"
    assert 0 < len(spec["shortDescription"]) <= 50
    assert not spec["shortDescription"].endswith(".")
    for platform in spec["platforms"]:
        assert re.fullmatch(r"[0-9a-f]{64}", platform["sha256"])
        assert platform["uri"].startswith("https://")
        assert platform["uri"].endswith(f"-{VERSION}-krew.tar.gz")
        assert platform["bin"] == "kubectl-steersman"
        assert platform["selector"]["matchExpressions"]


def test_the_files_that_krew_unpacks_are_there() -> None:
    (platform,) = manifest()["spec"]["platforms"]
    assert {entry["from"] for entry in platform["files"]} == {PROGRAM.name, "LICENSE"}
    assert PROGRAM.stat().st_mode & 0o111
    assert (DEPLOY.parent / "LICENSE").exists()


def test_the_program_has_the_package_of_this_version_run(tmp_path: Path) -> None:
    fetcher = tmp_path / "uvx"
    fetcher.write_text('#!/bin/sh\necho "$@"\n')
    fetcher.chmod(0o755)
    done = run(tmp_path, "why", "web 0")
    assert done.stdout == f"--from steersman=={VERSION} kubectl-steersman why web 0\n"


def test_without_a_way_to_fetch_the_package_it_says_what_to_do(tmp_path: Path) -> None:
    done = run(tmp_path, "why", "web-0")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: neither uvx nor pipx is installed")
