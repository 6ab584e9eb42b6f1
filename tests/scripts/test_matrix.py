# SPDX-License-Identifier: Apache-2.0
"""`make matrix` says which interpreters are missing, and does not call it a success when there is none."""

from __future__ import annotations

import os
import subprocess

from scripts.lockfile import ROOT


def test_a_python_that_is_not_there_is_named_and_nothing_tested_is_no_success() -> None:
    environment = {**os.environ, "PYTHONS": "3.98 3.99"}
    command = ["sh", str(ROOT / "scripts" / "matrix.sh"), "tests/scripts"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "matrix: passed: none; failed: none; no interpreter found: 3.98 3.99\n"
    assert done.returncode == 1
