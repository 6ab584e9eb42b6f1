# SPDX-License-Identifier: Apache-2.0
"""A sandbox as a process, and kubectl on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.sandbox.sandbox_process import SandboxProcess

from steersman.testing.control_plane import Binaries

COMMAND_SECONDS = 180.0


class Kubectl(NamedTuple):
    """kubectl of one sandbox; text in, text out."""

    program: Path
    sandbox: SandboxProcess

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """What it prints, on both streams; fails unless it ends with that code."""
        done = self._run([str(self.program), *arguments], stdin)
        assert done.returncode == code, (arguments, done.stdout)
        return done.stdout

    def shell(self, command: str) -> str:
        """A line as people type it."""
        done = self._run(["sh", "-c", command], "")
        assert done.returncode == 0, (command, done.stdout)
        return done.stdout

    def _run(self, command: list[str], stdin: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.program.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "KUBECONFIG": str(self.sandbox.kubeconfig), "PATH": path}
        return subprocess.run(
            command,
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            timeout=COMMAND_SECONDS,
        )


@pytest.fixture
def start_sandbox(binaries: Binaries, tmp_path: Path) -> Iterator[Callable[..., Kubectl]]:
    """Starts a sandbox with these options, and gives its kubectl."""
    running: list[SandboxProcess] = []

    def start(*arguments: str) -> Kubectl:
        running.append(SandboxProcess(tmp_path, *arguments).__enter__())
        return Kubectl(binaries.program("kubectl"), running[-1])

    yield start
    for sandbox in running:
        sandbox.__exit__(None, None, None)
