# SPDX-License-Identifier: Apache-2.0
"""The data for the scripts of a page: the sections of a report as JSON that is safe inside HTML.

Foreign text is escaped, numbers are finite, long lines are downsampled to the resolution of a
screen, and heat maps are columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from steersman.base.printable_text import printable
from steersman.base.report.model import (
    BarChart,
    Cell,
    Column,
    Distribution,
    HeatMap,
    Line,
    LineChart,
    Section,
    Table,
)

MAX_POINTS: Final = 4000
"""Maximum points of a line: more than twice the pixels of a wide screen."""
_PER_BUCKET: Final = 4

JsonValue: TypeAlias = Any
#: JSON escapes of characters that could end the surrounding element or a line of a script.
_HTML_SAFE: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def json_for_html(value: JsonValue) -> str:
    """Return a value as JSON that is safe inside a `script` element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_HTML_SAFE)


def section_data(section: Section) -> dict[str, JsonValue] | None:
    """Return the data of a section that the page draws; None for one that is plain HTML."""
    match section:
        case Table():
            return _table(section)
        case LineChart():
            return _lines(section)
        case BarChart():
            return _bars(section)
        case HeatMap():
            return _heat_map(section)
        case Distribution():
            return {
                "type": "distribution",
                "unit": printable(section.unit),
                "samples": _numbers_by_name(section.samples),
            }
    return None


def _table(table: Table) -> dict[str, JsonValue]:
    columns = [Column(column) if isinstance(column, str) else column for column in table.columns]
    return {
        "type": "table",
        "title": printable(table.title),
        "columns": [{"title": printable(column.title), "unit": printable(column.unit)} for column in columns],
        "rows": [[_cell(cell) for cell in row] for row in table.rows],
    }


def _lines(chart: LineChart) -> dict[str, JsonValue]:
    thin = {name: thinned(line) for name, line in chart.series.items()}
    return {
        "type": "lines",
        "unit": printable(chart.unit),
        "stacked": chart.stacked,
        "steps": chart.steps,
        "xTitle": printable(chart.x_title),
        "xUnit": printable(chart.x_unit),
        "series": [
            {"name": printable(name), "x": list(map(_number, line.x)), "y": list(map(_number, line.y))}
            for name, line in thin.items()
        ],
        "thinned": any(len(thin[name].x) < len(line.x) for name, line in chart.series.items()),
    }


def _bars(chart: BarChart) -> dict[str, JsonValue]:
    return {
        "type": "bars",
        "unit": printable(chart.unit),
        "stacked": chart.stacked,
        "categories": [printable(name) for name in chart.categories],
        "series": _numbers_by_name(chart.series),
    }


def _heat_map(heat_map: HeatMap) -> dict[str, JsonValue]:
    """Return columns over all nodes, added ones last; null where a node does not exist."""
    names = list(dict.fromkeys([*heat_map.before, *(heat_map.after or {})]))
    after = heat_map.after
    return {
        "type": "heatmap",
        "title": printable(heat_map.title),
        "names": [printable(name) for name in names],
        "groups": [printable(heat_map.groups.get(name, "")) for name in names],
        "details": [printable(heat_map.details.get(name, "")) for name in names] if heat_map.details else None,
        "before": [_number(heat_map.before.get(name), 4) for name in names],
        "after": None if after is None else [_number(after.get(name), 4) for name in names],
    }


def _numbers_by_name(values: Mapping[str, Sequence[float | None]]) -> list[dict[str, JsonValue]]:
    return [{"name": printable(name), "values": list(map(_number, numbers))} for name, numbers in values.items()]


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return printable(cell)
    return _number(cell)


def _number(value: float | None, digits: int | None = None) -> float | int | None:
    """Return the number, or None for infinity and NaN, which JSON lacks and the page shows as a
    gap."""
    if value is None or not math.isfinite(value):
        return None
    if digits is not None:
        return round(float(value), digits)
    return value if isinstance(value, int) else float(value)


def thinned(line: Line, limit: int = MAX_POINTS) -> Line:
    """Downsample a line to about `limit` points: the first, last, lowest and highest of every
    stretch of x."""
    if len(line.x) <= limit:
        return line
    stretches = limit // _PER_BUCKET
    low, high = line.x[0], line.x[-1]
    width = (high - low) / stretches or 1.0
    stretch: list[int] = []
    places: list[int] = []
    number = 0
    for place, x in enumerate(line.x):
        at = min(int((x - low) / width), stretches - 1)
        if at != number:
            places += _significant_places(line, stretch)
            stretch, number = [], at
        stretch.append(place)
    places += _significant_places(line, stretch)
    return Line([line.x[place] for place in places], [line.y[place] for place in places])


def _significant_places(line: Line, places: list[int]) -> list[int]:
    """Return the first, lowest, highest and last of some places of a line, and the first gap, each
    once and in order."""
    if len(places) <= _PER_BUCKET:
        return places
    known = [(value, place) for place in places if (value := line.y[place]) is not None and math.isfinite(value)]
    gaps = [place for place in places if line.y[place] is None][:1]
    extremes = [min(known)[1], max(known)[1]] if known else []
    return sorted({places[0], places[-1], *extremes, *gaps})
