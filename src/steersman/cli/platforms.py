# SPDX-License-Identifier: Apache-2.0
"""Where commands run. Most need nothing but Python; those that handle signals, or measure the process, need Unix."""

from __future__ import annotations

import os
from typing import Final

import click

IS_UNIX: Final = os.name == "posix"
NEEDS_UNIX: Final = "steersman {} needs Linux or macOS; simulate, explain, doctor and config run anywhere"


def require_unix(command: str) -> None:
    """Ends the command with one line where the operating system cannot run it."""
    if not IS_UNIX:
        raise click.UsageError(NEEDS_UNIX.format(command))
