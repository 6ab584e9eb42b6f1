# SPDX-License-Identifier: Apache-2.0
"""What the scripts of a page read: finite numbers, thinned lines, heat maps as columns."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from steersman.base.report import HeatMap, Line, LineChart, Table
from steersman.base.report.page_data import json_for_html, section_data, thinned


def test_what_is_not_a_number_becomes_a_gap() -> None:
    data = section_data(LineChart("t", {"a": Line([0, 1, 2], [math.nan, math.inf, 3])}))
    assert data is not None
    assert data["series"][0]["y"] == [None, None, 3]


def test_integers_of_a_table_stay_integers() -> None:
    data = section_data(Table("t", ["n"], [(3,), (3.0,), (None,), ("x",)]))
    assert data is not None
    assert json_for_html(data["rows"]) == '[[3],[3.0],[null],["x"]]'


def test_a_node_that_came_is_after_those_that_were_there_and_missing_before() -> None:
    data = section_data(HeatMap("t", {"a": 0.5, "b": 0.25}, {"c": 1.0, "a": 0.75}, {"a": "pool"}))
    assert data is not None
    assert data["names"] == ["a", "b", "c"]
    assert data["before"] == [0.5, 0.25, None]
    assert data["after"] == [0.75, None, 1.0]
    assert data["groups"] == ["pool", "", ""]


def test_a_document_cannot_end_the_element_around_it() -> None:
    assert json_for_html(["</script>&\u2028"]) == '["\\u003c/script\\u003e\\u0026\\u2028"]'


@given(st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.floats(-1e9, 1e9)), max_size=400))
def test_a_thinned_line_keeps_ends_and_peaks_and_invents_nothing(points: list[tuple[float, float | None]]) -> None:
    points.sort(key=lambda point: point[0])
    line = Line([x for x, _ in points], [y for _, y in points])
    thin = thinned(line, 40)
    assert len(thin.x) <= 40 + 10 + 4
    kept = list(zip(thin.x, thin.y, strict=True))
    assert set(kept) <= set(points)
    assert [x for x, _ in kept] == sorted(x for x, _ in kept)
    known = [y for _, y in points if y is not None]
    if known:
        there = [y for _, y in kept if y is not None]
        assert (min(there), max(there)) == (min(known), max(known))
        assert kept[0] == points[0]
        assert kept[-1] == points[-1]


def test_a_short_line_is_left_as_it_is() -> None:
    line = Line([0, 1], [1, 2])
    assert thinned(line) is line
