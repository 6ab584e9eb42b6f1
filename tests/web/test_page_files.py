# SPDX-License-Identifier: Apache-2.0
"""Files of the page: what is in the folder and nothing else, with a policy that lets nothing in."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.sandbox.web.page_files import PageFiles


@pytest.fixture
def built(tmp_path: Path) -> PageFiles:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Steersman</title>")
    (folder / "assets" / "app.js").write_text("run()")
    (folder / "secret.py").write_text("no")
    (tmp_path / "outside.html").write_text("outside")
    return PageFiles(folder)


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_index_is_the_page(built: PageFiles, path: str) -> None:
    answer = built.answer(path)
    assert (answer.status, answer.body) == (200, b"<title>Steersman</title>")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_scripts_have_their_type(built: PageFiles) -> None:
    assert built.answer("/assets/app.js").content_type.startswith("text/javascript")


@pytest.mark.parametrize(
    "path", ["/../outside.html", "/assets/../../outside.html", "/secret.py", "/assets", "/none.js"]
)
def test_nothing_else_is_served(built: PageFiles, path: str) -> None:
    assert built.answer(path).status == 404


def test_without_built_files_the_page_says_what_to_do(tmp_path: Path) -> None:
    answer = PageFiles(tmp_path / "none").answer("/")
    assert answer.status == 404
    assert b"make web" in answer.body
