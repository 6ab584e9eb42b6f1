# SPDX-License-Identifier: Apache-2.0
"""The golden bundles of the repository; `make conformance` compares the whole corpus where it is checked out beside it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent / "golden"


def golden(name: str) -> Path:
    """The path of the bundle `name`."""
    return _FOLDER / name


def golden_lines(name: str) -> Iterator[dict[str, Any]]:
    """The documents of the bundle `name`."""
    with gzip.open(golden(name), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
