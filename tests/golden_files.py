# SPDX-License-Identifier: Apache-2.0
"""Where the golden bundles are: beside the checkout during development, a vendored subset in the repository otherwise."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).resolve().parent.parent
_DIRECTORIES = (_REPOSITORY.parent / "shared" / "golden", _REPOSITORY / "tests" / "golden")


def golden(name: str) -> Path:
    """The path of the bundle `name`."""
    for directory in _DIRECTORIES:
        if (directory / name).is_file():
            return directory / name
    raise FileNotFoundError(f"no golden bundle {name} in {' or '.join(map(str, _DIRECTORIES))}")


def golden_lines(name: str) -> Iterator[dict[str, Any]]:
    """The documents of the bundle `name`."""
    with gzip.open(golden(name), "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
