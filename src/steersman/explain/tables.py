# SPDX-License-Identifier: Apache-2.0
"""Tables and paragraphs of plain text, as wide as they are or as wide as a terminal.

A table that is too wide is folded: columns of numbers go below, with the first columns again; columns of text become narrower,
and their cells go on in the next line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from steersman.printable import printable

_GAP: Final = "  "
_NARROWEST: Final = 12
"""A column of text is not made narrower."""


def aligned(rows: Sequence[Sequence[str]], right_from: int | None = None, width: int | None = None) -> list[str]:
    """The rows with columns of equal width, two blanks apart, the first row being the header.

    Columns from `right_from` on are numbers, aligned to the right. `width` is that of the terminal; None: no limit.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(shown)
    if width is None or _total(widths) <= width:
        return [_line(row, widths, right_from) for row in shown]
    if right_from is None:
        return list(_narrowed(shown, width))
    return list(_folded(shown, right_from, width))


def wrapped(line: str, width: int | None) -> list[str]:
    """A line of prose in as many lines as it takes; they stand two blanks further in than the first."""
    if width is None or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return wrap(line, width, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)


def hanging(first: str, text: str, width: int | None) -> list[str]:
    """A text after the beginning of its first line; the following lines stand below the text."""
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
    """The columns of numbers in as many tables as are needed."""
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
    """Cells of text in several lines; the widest columns give way."""
    widths = _widths(rows)
    while _total(widths) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    for row in rows:
        cells = [_cell_lines(cell, limit) for cell, limit in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            yield _line(parts, widths, None)


def _cell_lines(cell: str, width: int) -> list[str]:
    """At least one line; an indentation stays at the beginning of the first."""
    indent = cell[: len(cell) - len(cell.lstrip())]
    return wrap(cell, width, initial_indent="", subsequent_indent=f"{indent}  ", break_on_hyphens=False) or [cell]
