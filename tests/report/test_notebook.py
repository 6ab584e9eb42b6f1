# SPDX-License-Identifier: Apache-2.0
"""Pieces of HTML for notebooks."""

from __future__ import annotations

from tests.report.pages import HOSTILE, ReadPage

from steersman.base.report.notebook import heading, paragraph, piece, shares, small_table


def pieces(texts: list[str]) -> str:
    table = small_table(texts, [texts, [None, *range(len(texts) - 1)]])
    bars = shares(dict.fromkeys(texts, 0.5), {text: text for text in texts})
    return piece(*map(heading, texts), *map(paragraph, texts), table, bars)


def test_hostile_text_makes_no_element_and_no_attribute() -> None:
    def shape(texts: list[str]) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in ReadPage(pieces(texts)).elements]

    assert shape(HOSTILE) == shape([f"plain {number}" for number in range(len(HOSTILE))])


def test_rows_beyond_the_most_are_counted() -> None:
    table = small_table(["n"], [(number,) for number in range(1030)], most=30)
    assert table.count("<tr>") == 31
    assert "… and 1,000 more" in table


def test_a_share_of_more_than_all_fills_the_bar() -> None:
    assert "width:100.0%" in shares({"cpu": 1.7}, {"cpu": "17 of 10"})
    assert "170% (17 of 10)" in shares({"cpu": 1.7}, {"cpu": "17 of 10"})
