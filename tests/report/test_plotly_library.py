# SPDX-License-Identifier: Apache-2.0
"""Plotly's script, as the extra `report` installs it, and what users read without it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from steersman.base.errors import SteersmanError
from steersman.base.report import BarChart, Report, Table, render_html
from steersman.base.report.plotly_library import load_plotly_library


@pytest.fixture
def without_plotly(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> Iterator[None]:
    """As in an environment that has no package besides Steersman."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "plotly", raising=False)
    load_plotly_library.cache_clear()
    yield
    load_plotly_library.cache_clear()


def test_the_installed_script_is_found_without_being_imported() -> None:
    library = load_plotly_library()
    assert "plotly.js v" in library.source[:200]
    assert "plotly" not in sys.modules
    assert len(library.packed) < len(library.source) / 2


@pytest.mark.usefixtures("without_plotly")
def test_without_it_a_report_with_charts_says_what_to_install() -> None:
    with pytest.raises(SteersmanError, match=r"pip install 'steersman\[report\]'"):
        render_html(Report("t", "q", "a", [BarChart("b", ["x"], {"y": [1]})]))


@pytest.mark.usefixtures("without_plotly")
def test_without_it_a_report_of_tables_is_made() -> None:
    assert "<title>t" in render_html(Report("t", "q", "a", [Table("b", ["x"], [(1,)])]))
