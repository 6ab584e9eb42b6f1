# SPDX-License-Identifier: Apache-2.0
"""Plain-text tables, paragraphs, counts and durations, optionally fitted to the width of a
terminal.

A table that is too wide is folded: number columns move below, with the first columns repeated; text
columns become narrower, and their cells wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from steersman.base.printable_text import printable

_GAP: Final = "  "
_MIN_WIDTH: Final = 12
"""Minimum width of a text column."""
MAX_PROSE: Final = 2_000
"""Longer lines of prose, such as messages that list thousands of items, are shortened."""


def aligned(rows: Sequence[Sequence[str]], right_from: int | None = None, width: int | None = None) -> list[str]:
    """Return the rows with aligned columns, two spaces apart; the first row is the header.

    Columns from `right_from` on are numbers, aligned to the right. `width` is that of the terminal,
    None for no limit.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(shown)
    if width is None or _total(widths) <= width:
        return [_line(row, widths, right_from) for row in shown]
    if right_from is None:
        return list(_narrowed(shown, width))
    return list(_folded(shown, right_from, width))


def wrapped(line: str, width: int | None) -> list[str]:
    """Wrap and shorten a line of prose; continuation lines are indented by two more spaces."""
    line = _shortened(line)
    if width is None or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(line, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def wrap_hanging(first: str, text: str, width: int | None) -> list[str]:
    """Wrap and shorten a text after a prefix; continuation lines are aligned with the text."""
    text = _shortened(text)
    if width is None:
        return [f"{first}{text}"]
    return wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shortened(text: str) -> str:
    if len(text) <= MAX_PROSE:
        return text
    start = text[:MAX_PROSE].rpartition(" ")[0] or text[:MAX_PROSE]
    return f"{start} … and {len(text) - len(start):,} more characters"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int], right_from: int | None) -> str:
    cells = [
        cell.rjust(width) if right_from is not None and index >= right_from else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return _GAP.join(cells).rstrip()


def _folded(rows: Sequence[Sequence[str]], right_from: int, width: int) -> Iterator[str]:
    """Yield the number columns in as many tables as needed."""
    widths = _widths(rows)
    left = _total(widths[:right_from])
    at = right_from
    while at < len(widths):
        end = at + 1
        while end < len(widths) and left + sum(len(_GAP) + each for each in widths[at : end + 1]) <= width:
            end += 1
        if at > right_from:
            yield ""
        columns = [*range(right_from), *range(at, end)]
        for row in rows:
            yield _line([row[column] for column in columns], [widths[column] for column in columns], right_from)
        at = end


def _narrowed(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield rows with wrapped cells; the widest columns are narrowed first."""
    widths = _widths(rows)
    while _total(widths) > width and max(widths) > _MIN_WIDTH:
        widths[widths.index(max(widths))] -= 1
    for row in rows:
        cells = [_cell_lines(cell, limit) for cell, limit in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            yield _line(parts, widths, None)


def _cell_lines(cell: str, width: int) -> list[str]:
    """Wrap a cell, into at least one line; the indentation of the first line is kept."""
    indent = cell[: len(cell) - len(cell.lstrip())]
    return wrap(cell, width, initial_indent="", subsequent_indent=f"{indent}  ", break_on_hyphens=False) or [cell]


def counted(number: int, noun: str) -> str:
    """Return "1 pod", "2 pods"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration_text(seconds: float, digits: int = 3) -> str:
    """Return `30s`, `5m0.5s`, `2h0m1s`."""
    minutes, rest = divmod(seconds, 60)
    text = f"{round(rest, digits):g}s"
    if minutes:
        hours, minutes = divmod(int(minutes), 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return text
