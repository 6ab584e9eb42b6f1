# SPDX-License-Identifier: Apache-2.0
"""Small parts of Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""


def cell(text: str) -> str:
    """Text that stands in a table: on one line, without its separator."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A code span; "" stays "". A backslash before a bar, which tables need, would be seen in it."""
    return f"`{text}`" if text else ""


def fenced(text: str, language: str = "text") -> list[str]:
    return [f"```{language}", text.rstrip("\n"), "```", ""]
