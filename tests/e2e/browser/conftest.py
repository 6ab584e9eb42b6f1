# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests of pages: Chromium, driven by Playwright in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

VISIT: Final = Path(__file__).resolve().parents[3] / "scripts" / "visit_page.py"
VISIT_SECONDS: Final = 300.0


@dataclass(frozen=True)
class Seen:
    """What a visit gave: the values of its steps, and what the page said and asked for."""

    values: list[Any]
    console: list[str]
    errors: list[str]
    requests: list[str]


@dataclass(frozen=True)
class Browser:
    """Visits pages; see `scripts/visit_page.py` for the steps."""

    python: str
    chromium: str

    def visit(
        self, url: str, *steps: tuple[object, ...], width: int = 1400, height: int = 900, theme: str = "light"
    ) -> Seen:
        wanted = {"url": url, "width": width, "height": height, "theme": theme, "steps": steps}
        done = subprocess.run(
            [self.python, str(VISIT), self.chromium],
            input=json.dumps(wanted),
            capture_output=True,
            text=True,
            timeout=VISIT_SECONDS,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return Seen(**json.loads(done.stdout))


@pytest.fixture(scope="session")
def browser() -> Browser:
    python, chromium = os.environ.get("BROWSER_PYTHON", ""), os.environ.get("CHROMIUM", "")
    if not (python and chromium) and os.environ.get("CI") != "true":
        pytest.skip("`make e2e` installs Playwright, finds a browser, and sets BROWSER_PYTHON and CHROMIUM")
    return Browser(python, chromium)
