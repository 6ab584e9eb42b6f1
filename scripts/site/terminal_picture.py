# SPDX-License-Identifier: Apache-2.0
"""Draws docs/terminal.svg, what a terminal shows of a simulation: `python -m scripts.site.terminal_picture`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator

from click.testing import CliRunner
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from scripts.lockfile import ROOT
from steersman.cli import main
from steersman.cli.output import coloured

PICTURE = ROOT / "docs" / "terminal.svg"
COMMAND = ("simulate", "--example", "quickstart", "--seed", "1", "--explain", "web-0")
WIDTH = 92
#: Text, outlines and colours only: rich's own template has the reader load a font from elsewhere.
_TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<!-- SPDX-License-Identifier: Apache-2.0 -->
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; white-space: pre; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def shown_lines() -> list[str]:
    """The command, and of what it prints the scores and objections: no more than fits on the first screen of the README."""
    output = CliRunner().invoke(main, list(COMMAND), env={**os.environ, "STEERSMAN_WIDTH": str(WIDTH)}).stdout
    return [f"$ steersman {' '.join(COMMAND)}", *_abridged(output.splitlines())]


def _abridged(lines: list[str]) -> Iterator[str]:
    first, scores = (_beginning(lines, text) for text in ("Pod ", "Fits on"))
    second_table = lines.index("", scores)
    objections = _beginning(lines, "Does not fit")
    end = lines.index("", objections)
    yield from ("…", *lines[first : first + 2], "…", *lines[scores:second_table], "…", *lines[objections:end], "…")
    yield lines[-1]


def _beginning(lines: list[str], text: str) -> int:
    return next(index for index, line in enumerate(lines) if line.startswith(text))


def picture() -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in shown_lines():
        console.print(Text.from_ansi(coloured(line)), soft_wrap=True)
    return console.export_svg(title="steersman", theme=MONOKAI, code_format=_TEMPLATE, unique_id="steersman")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
