# SPDX-License-Identifier: Apache-2.0
"""The picture of a race."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.race.chart import Bar, svg
from scripts.lockfile import ROOT

#: Characters of a wide sans-serif font at 12 points.
WIDEST = 7.0


def legend(picture: str) -> list[tuple[float, str]]:
    """Return the left edge and the text of every entry of the legend."""
    entries = re.findall(r'<text x="([\d.]+)"[^>]*>([^<]*, pods/s)</text>', picture)
    return [(float(left), text) for left, text in entries]


def boxes(picture: str) -> list[float]:
    return [float(left) for left in re.findall(r'<rect x="([\d.]+)" y="26"', picture)]


def assert_no_overlap(picture: str) -> None:
    entries, lefts = legend(picture), boxes(picture)
    assert len(entries) == len(lefts) == 2
    for (left, text), box in zip(entries, lefts[1:], strict=False):
        assert left + WIDEST * len(text) < box, f"{text!r} runs into the next entry"


def test_entries_of_the_legend_do_not_overlap() -> None:
    assert_no_overlap(svg([Bar("basic", "kube-scheduler", 100.0), Bar("basic", "Steersman", 300.0)], "A race"))


def test_the_picture_of_the_docs_has_a_legend_without_overlap_and_its_text_counts_its_workloads() -> None:
    picture = Path(ROOT, "docs", "race.svg").read_text(encoding="utf-8")
    assert_no_overlap(picture)
    workloads = re.findall(r'<text x="0.0" y="[\d.]+" fill="[^"]*" font-weight="normal">', picture)
    assert len(workloads) == 8
    assert "eight workloads](race.svg)" in Path(ROOT, "docs", "index.md").read_text(encoding="utf-8")
