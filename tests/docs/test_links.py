# SPDX-License-Identifier: Apache-2.0
"""Links of the documentation lead somewhere: to pages, to files, and to headings on them."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import pytest
import yaml
from scripts.lockfile import ROOT
from scripts.site.assembly import GENERATED, BrokenLinkError, assemble, relinked, site_places

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("*/*/README.md"),
    )
    if not any(part.startswith(".") or part == "build" for part in path.relative_to(ROOT).parts)
)
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def _anchors(text: str) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in _LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        meant = os.path.normpath(PurePosixPath(page).parent / file) if file else page
        if meant.removeprefix("docs/") in GENERATED:
            continue
        assert (ROOT / meant).exists(), f"{page}: {target} leads nowhere"
        if anchor and meant.endswith(".md"):
            assert anchor in _anchors((ROOT / meant).read_text(encoding="utf-8")), f"{page}: no heading for {target}"


def test_pages_of_the_repository_do_not_link_to_pages_that_only_the_site_has() -> None:
    """README and CONTRIBUTING are read where there is no site."""
    for page in ("README.md", "CONTRIBUTING.md"):
        targets = _LINK.findall((ROOT / page).read_text(encoding="utf-8"))
        assert [target for target in targets if target.removeprefix("docs/") in GENERATED] == []


def test_the_site_has_every_page_and_the_navigation_names_them(tmp_path: Path) -> None:
    pages = {path.relative_to(tmp_path).as_posix() for path in assemble(tmp_path)}
    assert set(GENERATED) <= pages
    named = set(_leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert named <= pages
    assert {page for page in pages if not page.startswith("adr/0")} == named


def _leaves(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    items = nav.values() if isinstance(nav, dict) else nav
    assert isinstance(items, list) or hasattr(items, "__iter__")
    return [leaf for item in items for leaf in _leaves(item)]


def test_a_link_to_a_file_that_is_no_page_becomes_its_name() -> None:
    places = site_places()
    assert relinked("[a test](../tests/conftest.py)", "docs/run.md", places) == "a test (`tests/conftest.py`)"
    assert relinked("[ADR](adr/README.md#x)", "docs/run.md", places) == "[ADR](adr/README.md#x)"
    assert relinked("[deploy](../deploy/README.md)", "docs/run.md", places) == "[deploy](deploy.md)"
    with pytest.raises(BrokenLinkError, match=r"docs/run.md: \[x\]\(nowhere.md\) leads nowhere"):
        relinked("[x](nowhere.md)", "docs/run.md", places)


def test_links_in_code_are_left_alone() -> None:
    code = "```text\n[x](nowhere.md)\n```\n"
    assert relinked(code, "docs/run.md", site_places()) == code


def test_a_block_that_is_a_file_has_its_name_as_title() -> None:
    page = "<!-- file: a.yaml -->\n```yaml\nkind: Pod\n```\n"
    assert relinked(page, "docs/run.md", site_places()) == '```yaml title="a.yaml"\nkind: Pod\n```\n'
