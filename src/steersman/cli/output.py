# SPDX-License-Identifier: Apache-2.0
"""The way to the terminal: everything that commands print passes through here, and foreign text leaves its tricks behind.

Lines are the command's own; what stands in them may be anybody's (`printable`). On a terminal they are coloured (`terminal`).
Help texts show the summaries of commands whole: folded where they are long, never cut off.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from steersman.cli.terminal import coloured, has_colours, terminal_width
from steersman.printable import has_printable_lines, printable, printable_json, printable_lines


def say(text: str = "", *, err: bool = False) -> None:
    """Lines of text."""
    shown = printable_lines(text)
    click.echo(coloured(shown) if has_colours(sys.stderr if err else sys.stdout) else shown, err=err)


def say_error(text: str) -> None:
    """One line on standard error, whatever the text."""
    say(f"Error: {printable(' '.join(text.split()))}", err=True)


def say_note(text: str) -> None:
    """Something that the reader should know, on standard error, folded as the rest is."""
    from steersman.explain.tables import wrapped

    say("\n".join(wrapped(f"Note: {printable(text)}", terminal_width())), err=True)


def say_json(document: object) -> None:
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(document), indent=2)
    click.echo(printable_json(text.decode()))


def say_yaml(document: Any) -> None:
    """Other scripts are readable as they are, unless there are marks among them that would not be seen."""
    text = _yaml(document, as_it_is=True)
    click.echo((text if has_printable_lines(text) else _yaml(document, as_it_is=False)).rstrip("\n"))


def _yaml(document: Any, *, as_it_is: bool) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumped: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=as_it_is, width=4096)
    return dumped


_WHOLE = 1000
"""Longer than any first sentence: click cuts a summary that does not fit on the line."""


class SummaryGroup(click.Group):
    """A group of commands whose help shows the first sentence of each, whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        shown = [(name, command) for name, command in named if command is not None and not command.hidden]
        if shown:
            with formatter.section("Commands"):
                formatter.write_dl([(name, command.get_short_help_str(_WHOLE)) for name, command in shown])
