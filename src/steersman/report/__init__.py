# SPDX-License-Identifier: Apache-2.0
"""Reports for people: what was asked, the answer, charts and tables, in one HTML file that needs no network.

`model` is what a report says and has an example; `html` makes the file. This package knows nothing of what is reported.
"""

from steersman.report.html import render_html
from steersman.report.model import (
    BYTES,
    FRACTION,
    SECONDS,
    BarChart,
    Cell,
    Column,
    Distribution,
    Figures,
    HeatMap,
    Line,
    LineChart,
    Report,
    Section,
    Table,
    Text,
)

__all__ = [
    "BYTES",
    "FRACTION",
    "SECONDS",
    "BarChart",
    "Cell",
    "Column",
    "Distribution",
    "Figures",
    "HeatMap",
    "Line",
    "LineChart",
    "Report",
    "Section",
    "Table",
    "Text",
    "render_html",
]
