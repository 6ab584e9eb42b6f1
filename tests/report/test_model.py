# SPDX-License-Identifier: Apache-2.0
"""The data model of reports: what makers may give, and what programs read."""

from __future__ import annotations

import json

import pytest

from steersman.base.report import BarChart, Column, Figures, HeatMap, Line, LineChart, Report, Table, Text


def test_a_report_as_a_dict_names_the_type_of_every_section() -> None:
    report = Report(
        title="Capacity",
        question="How many fit?",
        answer="Seven fit.",
        sections=[
            Text("Why", "Because."),
            Figures("At a glance", {"nodes": 3}),
            Table("Per node", ["node", Column("used", "%")], [("a", 0.5), ("b", None)]),
            LineChart("Pending", {"Unschedulable": Line([0, 1], [3, None])}),
            HeatMap("CPU", {"a": 0.1}, {"a": 0.9}),
        ],
        fits=True,
    )
    document = json.loads(json.dumps(report.to_dict()))
    assert [section["type"] for section in document["sections"]] == ["text", "figures", "table", "lines", "heatmap"]
    assert document["sections"][2]["rows"] == [["a", 0.5], ["b", None]]


def test_a_row_without_a_cell_for_every_column_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells for 2 columns"):
        Table("Per node", ["node", "used"], [("a", 1), ("b",)])


def test_a_line_with_more_times_than_values_is_refused() -> None:
    with pytest.raises(ValueError, match="3 x and 2 y"):
        Line([0, 1, 2], [1, 2])


def test_bars_without_a_value_for_every_category_are_refused() -> None:
    with pytest.raises(ValueError, match="'nodes': 1 values for 2 categories"):
        BarChart("What limits", ["cpu", "memory"], {"nodes": [3]})
