# SPDX-License-Identifier: Apache-2.0
"""Without Go and without a control plane, `make e2e` is skipped on somebody's machine and fails in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.lockfile import ROOT

from steersman.base import KUBE_SCHEDULER_RELEASES, KUBE_SCHEDULER_VERSION

SCRIPT = ROOT / "scripts" / "control_plane" / "test.sh"


@pytest.fixture
def without_go(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has nothing but what the script itself runs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    return {"PATH": str(programs), "STEERSMAN_CACHE": str(tmp_path / "empty")}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPT), sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_on_a_machine_without_go_the_tests_are_skipped_and_it_says_so(without_go: dict[str, str]) -> None:
    done = run(without_go)
    assert done.returncode == 0
    assert "e2e: skipped: Go is not installed" in done.stdout


def test_in_ci_a_missing_component_is_a_failure(without_go: dict[str, str]) -> None:
    done = run({**without_go, "CI": "true"})
    assert done.returncode == 1
    assert "e2e: failed: Go is not installed" in done.stderr


def test_a_folder_that_lacks_the_programs_is_a_failure_everywhere(without_go: dict[str, str], tmp_path: Path) -> None:
    done = run({**without_go, "KUBEBUILDER_ASSETS": str(tmp_path)})
    assert done.returncode != 0
    assert "there is no such program" in done.stderr


@pytest.fixture
def without_tools(without_go: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """With the programs of both versions, which are not started, and no apt-get."""
    assets = tmp_path / KUBE_SCHEDULER_VERSION
    for release in KUBE_SCHEDULER_RELEASES.values():
        (tmp_path / release).mkdir()
        for name in ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl", "helm"):
            (tmp_path / release / name).write_text("#!/bin/sh\n")
            (tmp_path / release / name).chmod(0o755)
    for name in ("mkdir", "echo"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    return {**without_go, "KUBEBUILDER_ASSETS": str(assets)}


def test_in_ci_a_missing_program_that_reads_our_files_is_a_failure(without_tools: dict[str, str]) -> None:
    done = run({**without_tools, "CI": "true"})
    assert done.returncode == 1
    assert "not installed, and there is no apt-get to fetch them: prometheus zsh fish groff-base" in done.stderr
    assert done.stderr.splitlines()[-1] == "e2e: failed: programs that read what we ship are missing"


def test_elsewhere_it_is_skipped_with_a_message_and_the_others_run(without_tools: dict[str, str]) -> None:
    done = run(without_tools, "--version")
    assert done.returncode == 0
    assert "e2e: tests of shipped files are skipped where the program is missing" in done.stdout
    assert "pytest" in done.stdout


def test_ci_runs_every_tier_and_ends_with_the_tests() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line.partition(" #")[0] for line in lines]
    assert [line for line in commands if line.startswith(("make", "export"))] == [
        "export CI=true",
        "make check",
        "make docs",
        "make web-check",
        "make conformance",
        "make e2e",
        "make properties",
        "make test",
    ]
    assert lines[-1] == "make test"


def test_a_program_that_cannot_be_built_is_refused_with_those_that_can(tmp_path: Path) -> None:
    environment = {**os.environ, "STEERSMAN_CACHE": str(tmp_path)}
    environment.pop("KUBEBUILDER_ASSETS", None)
    script = ROOT / "scripts" / "control_plane" / "build.sh"
    done = subprocess.run(
        ["sh", str(script), "etcd", "kubelet"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "kubelet: there is no such program; known are etcd, kube-apiserver" in done.stderr
    assert not list(tmp_path.iterdir())
