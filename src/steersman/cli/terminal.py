# SPDX-License-Identifier: Apache-2.0
"""Terminal width and colours.

`STEERSMAN_WIDTH` sets the width, also for pipes. `NO_COLOR` (https://no-color.org) and `TERM=dumb`
disable colours.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from typing import Final, TextIO, TypeAlias

import click

Style: TypeAlias = Callable[[str], str]

_NARROWEST: Final = 40
_BOLD: Final[Style] = partial(click.style, bold=True)
_RED: Final[Style] = partial(click.style, fg="red", bold=True)
_GREEN: Final[Style] = partial(click.style, fg="green")
_YELLOW: Final[Style] = partial(click.style, fg="yellow")
#: Patterns to colour (the first group of the match) and styles. Names in Kubernetes are lower case,
#: headers are not.
_STYLES: Final = tuple(
    (re.compile(pattern), style)
    for pattern, style in (
        (r"^(Error:|PENDING$|FAILED$|PREEMPTED\b|fail\b)", _RED),
        (r"^(Note:|Warning:|UNSUPPORTED$|warn\b)", _YELLOW),
        (r"^(ok\b)", _GREEN),
        (r"^(\s*[A-Z][A-Z/ ]+(?:  .*)?)$", _BOLD),
        (r"^(\s+\* \S+)", _GREEN),
        (r"^  ((?:scheduled on|would go to) .*)$", _GREEN),
        (r"^  ((?:unschedulable|error):)", _RED),
    )
)
_NEARLY_FULL: Final = re.compile(r"\b(?:9[0-9]|[1-9][0-9]{2,})%")


def terminal_width() -> int | None:
    """Return the width in characters; None for no limit."""
    wanted = os.environ.get("STEERSMAN_WIDTH", "")
    if wanted.isdecimal():
        return max(_NARROWEST, int(wanted))
    return max(_NARROWEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour headers, outcomes and errors. Must be applied last, to text without foreign control
    characters."""
    return "\n".join(map(_coloured_line, text.split("\n")))


def _coloured_line(line: str) -> str:
    for pattern, style in _STYLES:
        if match := pattern.search(line):
            start, end = match.span(1)
            return f"{line[:start]}{style(line[start:end])}{line[end:]}"
    return _NEARLY_FULL.sub(lambda share: _YELLOW(share[0]), line)
