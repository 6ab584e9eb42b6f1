# SPDX-License-Identifier: Apache-2.0
"""Writes man/steersman.1 from the commands: `python -m scripts.man_page`. A test says when it is out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.command_tree import EXIT_CODES, CommandEntry, command_entries
from scripts.lockfile import ROOT
from scripts.sbom import project_version

PAGE = ROOT / "man" / "steersman.1"


def man_page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root, *commands = command_entries()
    yield '.\\" SPDX-License-Identifier: Apache-2.0'
    yield '.\\" Written by scripts/man_page.py from the commands; do not edit.'
    yield f'.TH STEERSMAN 1 "" "steersman {project_version()}" "User Commands"'
    yield from (".SH NAME", "steersman \\- the Kubernetes scheduler as a Python package")
    yield from (".SH SYNOPSIS", f".B {_text(root.usage)}")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(root)
    yield ".SH OPTIONS"
    yield from _options(root)
    yield ".SH COMMANDS"
    for command in commands:
        yield f'.SS "{_text(command.usage)}"'
        yield from _paragraphs(command)
        yield from _options(command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES:
        yield from (".TP", f".B {code}", _text(meaning))
    yield ".SH EXAMPLES"
    for line in (
        "steersman simulate --example quickstart",
        "steersman simulate -f cluster.json -f pods.yaml --explain web-0",
    ):
        yield from (".PP", ".nf", f".RS\n{_text(line)}\n.RE", ".fi")
    yield from (".SH SEE ALSO", ".BR kubectl (1)")


def _paragraphs(command: CommandEntry) -> Iterator[str]:
    for paragraph in command.paragraphs:
        lines = paragraph.splitlines()
        if lines and lines[0] == "\b":
            yield from (".PP", ".nf", *map(_text, lines[1:]), ".fi")
        else:
            yield from (".PP", _text(" ".join(lines)))


def _options(command: CommandEntry) -> Iterator[str]:
    for option in command.options:
        yield from (".TP", f".B {_text(option.usage)}", _text(option.text))


def _text(text: str) -> str:
    """Text in which roff sees no command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("`", "").strip()
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def main(page: Path = PAGE) -> None:
    page.parent.mkdir(exist_ok=True)
    page.write_text(man_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
