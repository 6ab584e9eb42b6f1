# SPDX-License-Identifier: Apache-2.0
"""Names of packages that are imported when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

INIT = """
from steersman.base.lazy_names import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, {"shapes": "Circle Square"})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"lazy_{tmp_path.name}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(INIT)
    (tmp_path / name / "shapes.py").write_text("class Circle: ...\nclass Square: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_module_is_imported_with_the_first_of_its_names(package: str) -> None:
    imported = import_module(package)
    assert f"{package}.shapes" not in sys.modules
    assert imported.Circle is import_module(f"{package}.shapes").Circle


def test_names_are_listed_before_they_are_imported(package: str) -> None:
    imported = import_module(package)
    assert imported.__all__ == ["Circle", "Square"]
    assert {"Circle", "Square"} <= set(dir(imported))


def test_a_name_that_is_not_exported_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Triangle'"):
        _ = import_module(package).Triangle
