# SPDX-License-Identifier: Apache-2.0
"""HTML fragments for notebooks, for `_repr_html_` of results and explanations.

Small, without scripts, and in the colours of the notebook, light or dark: text inherits its colour,
lines and bars are semi-transparent. All text is foreign and is escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from steersman.base.printable_text import printable
from steersman.base.report.model import Cell

MAX_ROWS: Final = 20
"""Maximum number of rows of a table that are shown; the remaining ones are counted."""
_MAX_LINE_LENGTH: Final = 60
_LINE: Final = "1px solid rgba(128,128,128,.4)"
_CELL: Final = f"padding:2px 10px;border-bottom:{_LINE};vertical-align:top"
_BAR: Final = "display:inline-block;width:160px;height:10px;background:rgba(128,128,128,.25);margin-right:8px"
_FILLED: Final = "display:block;height:10px;background:rgba(31,119,180,.85)"


def piece(*parts: str) -> str:
    """Combine the parts into one notebook output."""
    return f'<div style="line-height:1.45;overflow-x:auto">{"".join(parts)}</div>'


def heading(text: str) -> str:
    return f'<p style="margin:4px 0"><strong>{escape(printable(text))}</strong></p>'


def paragraph(text: str) -> str:
    return f'<p style="margin:4px 0">{escape(printable(text))}</p>'


def small_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], most: int = MAX_ROWS) -> str:
    """Return a table of the first rows, numbers aligned right, and the number of remaining rows."""
    numeric = [any(isinstance(row[place], int | float) for row in rows) for place in range(len(columns))]
    head = "".join(_cell("th", column, right) for column, right in zip(columns, numeric, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', cell, right) for cell, right in zip(row, numeric, strict=True))}</tr>"
        for row in rows[:most]
    )
    more = paragraph(f"… and {len(rows) - most:,} more") if len(rows) > most else ""
    table = f'<table style="border-collapse:collapse;margin:6px 0"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return table + more


def shares(values: Mapping[str, float], amounts: Mapping[str, str]) -> str:
    """Return a bar per name for values from 0 to 1, with the amount beside it."""
    rows = "".join(
        f'<tr><th style="{_CELL};text-align:left;border:0">{escape(printable(name))}</th>'
        f'<td style="{_CELL};text-align:left;border:0;white-space:nowrap"><span style="{_BAR}">'
        f'<span style="{_FILLED};width:{min(max(value, 0.0), 1.0):.1%}"></span></span>'
        f"{value:.0%} ({escape(printable(amounts.get(name, '')))})</td></tr>"
        for name, value in values.items()
    )
    return f'<table style="border-collapse:collapse;margin:6px 0"><tbody>{rows}</tbody></table>'


def _cell(tag: str, cell: Cell, right: bool) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    align = "right" if right else "left"
    text = _shown(cell)
    folds = "normal" if len(text) > _MAX_LINE_LENGTH else "nowrap"
    return f'<{tag}{scope} style="{_CELL};text-align:{align};white-space:{folds}">{escape(text)}</{tag}>'


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return printable(cell) if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else f"{cell:,.6g}"
