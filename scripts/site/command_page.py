# SPDX-License-Identifier: Apache-2.0
"""Reference of the commands: one section each, from click."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.command_tree import EXIT_CODES, CommandEntry, command_entries
from scripts.site.markdown import code, fenced, table
from steersman.cli.run import UNSUPPORTED

VARIABLES = (
    ("KUBECONFIG", "Where kubeconfigs are, as for kubectl."),
    ("STEERSMAN_DEBUG", "Tracebacks and log messages, as `--debug`."),
    ("STEERSMAN_WIDTH", "Columns to fold tables to, also in a pipe; a terminal's own width otherwise, none in a pipe."),
    ("NO_COLOR", "No colours on a terminal. Pipes get none anyway."),
)


def command_page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    root, *commands = command_entries()
    yield from ("# Commands", "", root.summary, "", *fenced(root.usage))
    yield from _options(root)
    for command in commands:
        yield f"{'#' * len(command.path.split())} {code(command.path)}"
        yield ""
        yield from _paragraphs(command)
        yield from fenced(command.usage)
        yield from _options(command)
    yield from ("## Exit codes", "", *table(("code", "meaning"), EXIT_CODES))
    yield from ("## Environment", "", *table(("variable", "what it does"), ((code(n), t) for n, t in VARIABLES)))
    yield from ("## Flags of kube-scheduler that are refused", "")
    yield from table(("flag of `run`", "instead"), ((code(flag), text) for flag, text in sorted(UNSUPPORTED.items())))


def _paragraphs(command: CommandEntry) -> Iterator[str]:
    for paragraph in command.paragraphs:
        if paragraph.startswith("\b"):
            yield from fenced(paragraph.removeprefix("\b").strip("\n"), "sh")
        else:
            yield from (paragraph.replace("<", "&lt;"), "")


def _options(command: CommandEntry) -> Iterator[str]:
    if command.options:
        yield from table(("option", "what it does"), ((code(option.usage), option.text) for option in command.options))
