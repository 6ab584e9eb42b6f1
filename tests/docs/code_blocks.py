# SPDX-License-Identifier: Apache-2.0
"""The code blocks of the documentation, and what a comment before a block says of it.

| comment | meaning |
|---|---|
| none | `console` and `python` blocks are run, in the order of the page, in one folder that was empty; `yaml` is read |
| `<!-- file: NAME -->` | the block is written to a file of that name, for the blocks after it |
| `<!-- output -->` | the block is what the commands before it print, word for word |
| `<!-- e2e -->` | the block needs a cluster: `make e2e` runs it |
| `<!-- not run: WHY -->` | nobody runs it |

A line `…` in what is printed stands for any number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from scripts.lockfile import ROOT

_FENCE: Final = re.compile(r"^(?P<indent>\s*)```(?P<language>\w*)\s*$")
_COMMENT: Final = re.compile(r"^\s*<!--\s*(?P<what>file|output|e2e|not run)(?::\s*(?P<text>.*?))?\s*-->\s*$")
RUNNABLE: Final = ("console", "python", "sh")
ANYTHING: Final = "…"


class CodeBlock(NamedTuple):
    """A fenced block; `comment` and `detail` are what stands before it."""

    page: str
    line: int
    language: str
    text: str
    comment: str = ""
    detail: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        return self.language in RUNNABLE and not self.comment

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Of a console block: each command, and the lines that it prints."""
        command, printed = "", list[str]()
        for line in self.text.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, printed
                command, printed = line.removeprefix("$ ").partition("   #")[0].strip(), []
            else:
                printed.append(line)
        if command:
            yield command, printed


def pages() -> list[str]:
    """README and the pages of docs/, decisions left out: they quote what was."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "deploy" / "README.md"]
    found += (ROOT / "examples").glob("*/README.md")
    return sorted(path.relative_to(ROOT).as_posix() for path in found if "adr" not in path.parts)


def code_blocks(page: str) -> list[CodeBlock]:
    return list(_blocks(page, (ROOT / page).read_text(encoding="utf-8").splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[CodeBlock]:
    opened: tuple[int, str, str] | None = None
    comment = ("", "")
    inside: list[str] = []
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if opened is not None:
            if fence is not None and not fence["language"]:
                yield CodeBlock(page, opened[0], opened[1], "\n".join(inside) + "\n", *comment)
                opened, comment, inside = None, ("", ""), []
            else:
                inside.append(line.removeprefix(opened[2]))
        elif fence is not None:
            opened = number, fence["language"], fence["indent"]
        elif said := _COMMENT.match(line):
            comment = said["what"], said["text"] or ""
        elif line.strip():
            comment = ("", "")


def is_printed(expected: list[str], printed: list[str]) -> bool:
    """Whether these are the lines, where a line `…` may be any number of them, and blanks at the end do not count."""
    if not expected:
        return not printed
    if expected[0].strip() == ANYTHING:
        return any(is_printed(expected[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and expected[0].rstrip() == printed[0].rstrip() and is_printed(expected[1:], printed[1:])


def folder_of(page: str) -> Path:
    return (ROOT / page).parent
