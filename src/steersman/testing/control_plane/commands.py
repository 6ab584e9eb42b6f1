# SPDX-License-Identifier: Apache-2.0
"""kubectl and helm for tests: the real programs, with a given kubeconfig."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from steersman.base import SteersmanError
from steersman.testing.control_plane.binaries import HELM, KUBECTL, Binaries

COMMAND_SECONDS: Final = 60.0


class CommandError(SteersmanError):
    """Error: a command failed. The text has its output."""


class ClientCommand(msgspec.Struct, frozen=True):
    """A program that uses `KUBECONFIG`; calling it runs it.

    Its home directory is the kubeconfig's folder, to ignore the user's cache and settings.
    """

    program: Path
    kubeconfig: Path
    environment: Mapping[str, str] = {}

    def __call__(self, *arguments: str, stdin: str = "", timeout: float = COMMAND_SECONDS) -> str:
        """Run the program and return its standard output. Raise `CommandError` if it fails."""
        done = self.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            output = (done.stderr + done.stdout).strip()
            raise CommandError(f"{self.program.name} {' '.join(arguments)}: exit code {done.returncode}: {output}")
        return done.stdout

    def run(
        self, *arguments: str, stdin: str = "", timeout: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run the program and return its output and exit code."""
        own = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent), **self.environment}
        return subprocess.run(
            [str(self.program), *arguments],
            input=stdin,
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


def kubectl_command(binaries: Binaries, kubeconfig: Path) -> ClientCommand:
    return ClientCommand(binaries.program(KUBECTL), kubeconfig)


def helm_command(binaries: Binaries, kubeconfig: Path) -> ClientCommand:
    return ClientCommand(binaries.program(HELM), kubeconfig)
