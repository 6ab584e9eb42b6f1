# SPDX-License-Identifier: Apache-2.0
"""Programs of others that the tests give our files to; `make e2e` provides them (`scripts/test_tools.sh`)."""

from __future__ import annotations

import os
import shutil

import pytest


def required(program: str) -> str:
    """Its path. Where it is missing, the test is skipped, and fails in CI."""
    found = shutil.which(program)
    if found is not None:
        return found
    text = f"{program} is not installed, and scripts/test_tools.sh could not fetch it"
    if os.environ.get("CI") == "true":
        pytest.fail(text)
    pytest.skip(text)
