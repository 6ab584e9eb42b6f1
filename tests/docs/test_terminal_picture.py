# SPDX-License-Identifier: Apache-2.0
"""The picture in the README shows what is printed today, and loads nothing from elsewhere."""

from __future__ import annotations

import html
import re

from scripts.site.terminal_picture import PICTURE, shown_lines


def _words(text: str) -> list[str]:
    return text.replace("\u00a0", " ").split()


def test_the_picture_shows_what_is_printed() -> None:
    drawn = re.findall(r"<text[^>]*>(.*?)</text>", PICTURE.read_text(encoding="utf-8"))
    shown = [word for text in drawn for word in _words(html.unescape(text))]
    printed = [word for line in shown_lines() for word in _words(line)]
    assert [word for word in shown if word != "steersman"] == [word for word in printed if word != "steersman"], (
        "run `python -m scripts.site.terminal_picture`"
    )


def test_the_picture_loads_nothing() -> None:
    assert re.findall(r"url\((?!#)|href=|@import|@font-face", PICTURE.read_text(encoding="utf-8")) == []
