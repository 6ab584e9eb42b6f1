# SPDX-License-Identifier: Apache-2.0
"""Platform requirements: commands that handle signals, or measure the process, need Unix."""

from __future__ import annotations

import os
from typing import Final

import click

IS_UNIX: Final = os.name == "posix"
NEEDS_UNIX: Final = "steersman {} needs Linux or macOS; simulate, explain, doctor and config run anywhere"


def require_unix(command: str) -> None:
    """End the command with one line if the operating system does not support it."""
    if not IS_UNIX:
        raise click.UsageError(NEEDS_UNIX.format(command))
