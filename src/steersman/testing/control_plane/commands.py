# SPDX-License-Identifier: Apache-2.0
"""kubectl and helm for tests: the real programs, run to their end against one kubeconfig."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from steersman.errors import SteersmanError
from steersman.testing.control_plane.binaries import HELM, KUBECTL, Binaries

COMMAND_SECONDS: Final = 60.0


class CommandError(SteersmanError):
    """A command of a client ended with an error; the text has what it wrote."""


class ClientCommand(msgspec.Struct, frozen=True):
    """A program that finds its cluster by `KUBECONFIG`; calling it runs it.

    The home directory is the kubeconfig's folder, so that no cache or setting of the user's own plays a part.
    """

    program: Path
    kubeconfig: Path
    environment: Mapping[str, str] = {}

    def __call__(self, *arguments: str, stdin: str = "", timeout: float = COMMAND_SECONDS) -> str:
        """The text that it wrote to standard output; `CommandError` with standard error when it failed."""
        done = self.run(*arguments, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip()
            raise CommandError(f"{self.program.name} {' '.join(arguments)}: exit code {done.returncode}: {said}")
        return done.stdout

    def run(
        self, *arguments: str, stdin: str = "", timeout: float = COMMAND_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Both outputs and the exit code, whatever it is."""
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
