# SPDX-License-Identifier: Apache-2.0
"""Small parts of Markdown pages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""


def cell(text: str) -> str:
    """Return text for a table: on one line, without its separator. In a code span the backslash before a bar would be seen,
    so that such spans are HTML."""
    spans = re.sub(r"`([^`]*\|[^`]*)`", lambda found: f"<code>{_escaped(found[1])}</code>", " ".join(text.split()))
    return spans.replace("|", "\\|")


def _escaped(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "&#124;")


def code(text: str) -> str:
    """Return a code span; "" stays ""."""
    return f"`{text}`" if text else ""


def fenced(text: str, language: str = "text") -> list[str]:
    return [f"```{language}", text.rstrip("\n"), "```", ""]
