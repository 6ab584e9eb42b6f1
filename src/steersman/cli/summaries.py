# SPDX-License-Identifier: Apache-2.0
"""The list of commands in a help text: summaries are folded where they are long, never cut off."""

from __future__ import annotations

import click

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
