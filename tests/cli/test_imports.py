# SPDX-License-Identifier: Apache-2.0
"""The command line is there at once: `--help`, `--version` and completion import no part of the scheduler."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "numpy",
    "steersman.api",
    "steersman.config",
    "steersman.scheduler.diagnosis",
    "steersman.simulation",
    "steersman.plan",
)
"""Each takes 20 ms or more. Commands import what they need when they are run."""


def test_a_command_is_imported_when_it_is_run() -> None:
    code = f"import sys; import steersman.cli; print([name for name in {HEAVY} if name in sys.modules])"
    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert imported.stdout.strip() == "[]"
