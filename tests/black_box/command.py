# SPDX-License-Identifier: Apache-2.0
"""`steersman` as a process of its own, of whatever version of the code PYTHONPATH leads to.

What is tested here is asked from outside: by commands, HTTP and files. So the same tests run on older code, and show what it
did:  PYTHONPATH=/path/to/other/src:. python -m pytest tests/black_box
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SECONDS = 60.0


def steersman(*arguments: object, before: str = "") -> subprocess.CompletedProcess[str]:
    """The command with these arguments; `before` is Python that runs in its process first."""
    start = f"{before}\nfrom steersman.cli import main\nmain(prog_name='steersman')"
    command = [sys.executable, "-c", start, *map(str, arguments)]
    environment = {**os.environ, "STEERSMAN_WIDTH": "200"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS)


def warnings_in(log: Path) -> list[str]:
    """The lines of a log in klog's form that are warnings or errors."""
    return [line for line in log.read_text().splitlines() if line[:1] in ("W", "E") and line[1:5].isdigit()]
