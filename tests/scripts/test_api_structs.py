# SPDX-License-Identifier: Apache-2.0
"""Modules that are generated from the table of structs."""

from pathlib import Path

import pytest
from scripts.api_structs import generated, read_table

MODULES = list(generated(read_table()))


@pytest.mark.parametrize(("path", "text"), MODULES, ids=[path.stem for path, _ in MODULES])
def test_modules_of_structs_are_up_to_date(path: Path, text: str) -> None:
    assert path.read_text("utf-8") == text, "run `python -m scripts.api_structs`"
