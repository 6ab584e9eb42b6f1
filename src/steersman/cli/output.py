# SPDX-License-Identifier: Apache-2.0
"""Terminal output of all commands, with foreign text escaped.

Lines are the command's own; their contents may be foreign (`printable`). On a terminal they are
coloured. Help texts show the summaries of commands in full, wrapped if they are long.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Any, Final, TextIO, TypeAlias

import click

from steersman.base import has_printable_lines, printable, printable_json, printable_lines

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


# -- exit codes --------------------------------------------------------------------------------------------------------


class ExitCode(IntEnum):
    """What a command reports to the shell; `meaning` is its line in the manual."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    YES = 0, "the command succeeded, and the answer is yes"
    NO = 1, "the answer is no: a pod is pending or failed, something differs, a check failed, or `run` lost its lease"
    BAD_INPUT = 2, "the command line, a file or the cluster cannot be used; standard error has a line that says why"
    FAULT = 3, "Steersman itself failed; `steersman --debug …` prints the traceback"
    STOPPED = 4, "the simulation was stopped, because pods were retried without progress"
    INTERRUPTED = 130, "Ctrl-C"


# -- output ------------------------------------------------------------------------------------------------------------


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines of text."""
    shown = printable_lines(text)
    click.echo(coloured(shown) if has_colours(sys.stderr if err else sys.stdout) else shown, err=err)


def say_error(text: str) -> None:
    """Print one line on standard error, whatever the text contains."""
    say(f"Error: {printable(' '.join(text.split()))}", err=True)


def say_note(text: str) -> None:
    """Print a note for the user on standard error, wrapped like other output."""
    from steersman.base import wrapped

    say("\n".join(wrapped(f"Note: {printable(text)}", terminal_width())), err=True)


def log_to_terminal(name: str) -> None:
    """Write warnings and errors of the logger to standard error: an interrupted watch, a failing
    plugin."""
    import logging

    from steersman.kube.observe import TextFormatter

    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(TextFormatter())
    logging.getLogger(name).addHandler(handler)


def say_json(document: object) -> None:
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    click.echo(printable_json(text.decode()))


def say_answer(output: str, document: Callable[[], object], text: Callable[[], str]) -> None:
    """Print the document if the output is `json` or `yaml`, else the text."""
    if output == "json":
        say_json(document())
    elif output == "yaml":
        say_yaml(document())
    else:
        say(text())


def say_yaml(document: Any) -> None:
    """Print a document as YAML. Non-ASCII text is readable, except for invisible characters, which
    are escaped."""
    text = _yaml(document, as_it_is=True)
    click.echo((text if has_printable_lines(text) else _yaml(document, as_it_is=False)).rstrip("\n"))


def _yaml(document: Any, *, as_it_is: bool) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumped: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=as_it_is, width=4096)
    return dumped


_WHOLE = 1000
"""Longer than any first sentence: click truncates a summary that does not fit on the line."""


class SummaryGroup(click.Group):
    """A group of commands whose help shows the whole first sentence of each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        shown = [(name, command) for name, command in named if command is not None and not command.hidden]
        if shown:
            with formatter.section("Commands"):
                formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in shown])


# -- platforms ---------------------------------------------------------------------------------------------------------


IS_UNIX: Final = os.name == "posix"
NEEDS_UNIX: Final = "steersman {} needs Linux or macOS; simulate, explain, doctor and config run anywhere"


def require_unix(command: str) -> None:
    """End the command with one line if the operating system does not support it."""
    if not IS_UNIX:
        raise click.UsageError(NEEDS_UNIX.format(command))
