# SPDX-License-Identifier: Apache-2.0
"""The content of a report: a question, its answer in one sentence, and sections that show why.
Plain data, no HTML.

Reports are made in the packages of their data (`simulation.report`, `plan`, `sweep`, `bench`) and
rendered by `steersman.base.report.html`, which escapes every text (names and messages of objects
are foreign). The same report renders to the same bytes; put no date into it.

    Report(
        title="Capacity",
        question="How many more pods like web.yaml fit?",
        answer="312 more pods fit; cpu is what limits them.",
        fits=True,
        sections=[
            Figures("At a glance", {"nodes": 100, "fit": 312}),
            BarChart("What limits", ["cpu", "memory"], {"nodes": [71, 29]}, "nodes"),
            HeatMap("CPU requested", before={"a-1": 0.2}, after={"a-1": 0.9}, groups={"a-1": "zone a"}),
            Table("Per node", [Column("node"), Column("more pods")], [("a-1", 7)]),
        ],
        commands=["steersman plan capacity -f dump.json --pod web.yaml"],
        notes=["The extenders of the configuration were not asked."],
    )
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from steersman.base.document_versions import PlainStruct

FRACTION: Final = "%"
"""Unit of values from 0 to 1 that are shown as percentages. Any other unit is shown after the
value."""
SECONDS: Final = "s"
"""Unit of durations, shown as `2m 3s`."""
BYTES: Final = "B"
"""Unit of memory, shown as `1.5 GiB`."""

Cell: TypeAlias = str | int | float | None
"""A value in a table or a figure; None is shown as a dash and sorted last."""


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Paragraphs of plain text, separated by empty lines; with `is_code`, preformatted in a
    monospaced font."""

    title: str
    text: str
    is_code: bool = False


class Figures(msgspec.Struct, frozen=True, tag="figures"):
    """A few numbers in large type, by name."""

    title: str
    values: Mapping[str, Cell]


class Column(msgspec.Struct, frozen=True):
    """Header of a table column. Numbers are aligned right and sorted by value; `unit` as for
    charts."""

    title: str
    unit: str = ""


class Table(msgspec.Struct, frozen=True, tag="table"):
    """Rows that can be sorted by any column and filtered by text; thousands of rows are fine.

    A column may be given by its title alone. Every row has a cell per column.
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    #: One sentence below the title about the rows.
    caption: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: row {number} has {len(row)} cells for {len(self.columns)} columns"
                )


class Line(msgspec.Struct, frozen=True):
    """Points of a line with ascending `x`; a value of None leaves a gap."""

    x: Sequence[float]
    y: Sequence[float | None]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"a line has {len(self.x)} x and {len(self.y)} y")


class LineChart(msgspec.Struct, frozen=True, tag="lines"):
    """Lines by name, over time or over the quantity that `x_title` and `x_unit` describe."""

    title: str
    series: Mapping[str, Line]
    unit: str = ""
    #: Whether lines are stacked areas, as for parts of a whole.
    stacked: bool = False
    #: Whether a value holds until the next one (steps); otherwise points are connected.
    steps: bool = True
    x_title: str = "virtual time"
    x_unit: str = SECONDS
    caption: str = ""


class BarChart(msgspec.Struct, frozen=True, tag="bars"):
    """A group of bars per category, a bar of each group per series: `series` has a value for every
    category."""

    title: str
    categories: Sequence[str]
    series: Mapping[str, Sequence[float | None]]
    unit: str = ""
    stacked: bool = False
    caption: str = ""

    def __post_init__(self) -> None:
        for name, values in self.series.items():
            if len(values) != len(self.categories):
                raise ValueError(f"bars {name!r}: {len(values)} values for {len(self.categories)} categories")


class HeatMap(msgspec.Struct, frozen=True, tag="heatmap"):
    """A square per node, coloured by a value from 0 to 1: before and, optionally, after.

    A node in only one of the two was added or removed. `groups` has the pool or zone of a node;
    nodes without one are shown together. `details` has one more line about a node, shown with its
    value.
    """

    title: str
    before: Mapping[str, float]
    after: Mapping[str, float] | None = None
    groups: Mapping[str, str] = msgspec.field(default_factory=dict)
    details: Mapping[str, str] = msgspec.field(default_factory=dict)
    caption: str = ""


class Distribution(msgspec.Struct, frozen=True, tag="distribution"):
    """Distribution of values, for example over seeds: a box plot with points per name."""

    title: str
    samples: Mapping[str, Sequence[float]]
    unit: str = ""
    caption: str = ""


Section: TypeAlias = Text | Figures | Table | LineChart | BarChart | HeatMap | Distribution


class Report(PlainStruct, frozen=True):
    """A report; see the example in the docstring of this module."""

    title: str
    #: The question in natural language.
    question: str
    #: The answer in one sentence.
    answer: str
    sections: Sequence[Section] = ()
    #: Commands that reproduce the report.
    commands: Sequence[str] = ()
    #: Remarks about the input, one sentence each.
    notes: Sequence[str] = ()
    #: Whether the answer is yes (green) or no (red); None if neither.
    fits: bool | None = None
