# SPDX-License-Identifier: Apache-2.0
"""The pages stay short, and figures and generated pages stay in step with their sources."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT

from scripts import performance_page

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if "adr" not in path.parts
)
MAX_COLUMNS = 120
MAX_WORDS = {"README.md": 700, "CONTRIBUTING.md": 800}
MAX_WORDS_OF_DOCS = 35_000


def prose(page: str) -> str:
    """Return the page without its blocks of commands, code and output."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_no_line_of_prose_is_longer_than_120_characters(page: str) -> None:
    lines = [line for line in prose(page).splitlines() if not re.match(r" *(\||<!--|!?\[[^\]]*\]\(\S*\)$)", line)]
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []


@pytest.mark.parametrize("page", MAX_WORDS)
def test_the_first_pages_are_short(page: str) -> None:
    assert len(prose(page).split()) <= MAX_WORDS[page]


def test_all_pages_together_are_bounded() -> None:
    pages = [page for page in PAGES if page.startswith("docs/")]
    assert sum(len((ROOT / page).read_text(encoding="utf-8").split()) for page in pages) <= MAX_WORDS_OF_DOCS


def test_the_page_of_figures_is_up_to_date() -> None:
    text = performance_page.PAGE.read_text(encoding="utf-8")
    assert text == performance_page.page(), "run .venv/bin/python -m scripts.performance_page"
