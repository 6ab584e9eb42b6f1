# SPDX-License-Identifier: Apache-2.0
"""Terminal output of all commands, with foreign text escaped.

Lines are the command's own; their contents may be foreign (`printable`). On a terminal they are
coloured (`terminal`). Help texts show the summaries of commands in full, wrapped if they are long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from steersman.base import has_printable_lines, printable, printable_json, printable_lines
from steersman.cli.terminal import coloured, has_colours, terminal_width


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
