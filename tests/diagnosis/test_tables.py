# SPDX-License-Identifier: Apache-2.0
"""Tables that are wider than the terminal are folded, and nothing of them is lost."""

from __future__ import annotations

from hypothesis import given, strategies as st

from steersman.base.text_tables import aligned, wrapped

_WORDS = st.text("abcdefgh", min_size=1, max_size=8)


def test_columns_of_numbers_go_below_with_the_name_again() -> None:
    rows = [("NODE", "CPU", "MEMORY", "PODS"), ("n1", "10", "20", "30")]
    assert aligned(rows, right_from=1, width=16) == [
        "NODE  CPU",
        "n1     10",
        "",
        "NODE  MEMORY",
        "n1        20",
        "",
        "NODE  PODS",
        "n1      30",
    ]


def test_cells_of_text_go_on_in_the_next_line() -> None:
    rows = [("NODE", "REASON"), ("n1", "does not have enough of anything")]
    assert aligned(rows, width=26) == [
        "NODE  REASON",
        "n1    does not have enough",
        "        of anything",
    ]


def test_a_table_that_fits_is_left_alone() -> None:
    rows = [("A", "B"), ("1", "2")]
    assert aligned(rows, 1, 80) == aligned(rows, 1)


def test_prose_goes_on_further_in() -> None:
    assert wrapped("  one two three", 9) == ["  one two", "    three"]
    assert wrapped("  one two three", None) == ["  one two three"]


@given(st.lists(st.lists(_WORDS, min_size=1, max_size=6).map(" ".join), min_size=3, max_size=3), st.integers(44, 90))
def test_no_word_is_lost_and_no_line_too_long(cells: list[str], width: int) -> None:
    lines = aligned([("A", "B", "C"), cells], width=width)
    assert max(map(len, lines)) <= width
    assert sorted(" ".join(lines).split()) == sorted(["A", "B", "C", *" ".join(cells).split()])
