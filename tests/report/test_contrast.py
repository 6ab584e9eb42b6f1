# SPDX-License-Identifier: Apache-2.0
"""The colours of pages and reports can be read: WCAG's contrast is 4.5 or more for text, and 3 for lines, in both themes."""

from __future__ import annotations

import re

import pytest
from scripts.lockfile import ROOT

STYLE = (ROOT / "web" / "src" / "style.css").read_text("utf-8")
THEMES = [
    dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r"color-scheme: (?:light|dark);([^}]*)}", STYLE)
]


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_there_is_a_light_theme_and_a_dark_one() -> None:
    light, dark = THEMES
    assert dark.keys() <= light.keys()


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["--paper", "--raised"])
def test_text_can_be_read(theme: dict[str, str], ground: str) -> None:
    for name in ("--text", "--quiet", "--accent", "--yes", "--no"):
        assert contrast(theme[name], theme[ground]) >= 4.5, name


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_lines_can_be_told_from_the_ground(theme: dict[str, str]) -> None:
    for number in range(1, 9):
        assert contrast(theme[f"--line-{number}"], theme["--raised"]) >= 3, number
