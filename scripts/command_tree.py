# SPDX-License-Identifier: Apache-2.0
"""The commands of `steersman` as data: what the manual page and the reference of the site are written from."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

import click

from steersman.cli import main
from steersman.cli.output import ExitCode

EXIT_CODES = tuple((str(int(code)), code.meaning) for code in ExitCode)


class OptionEntry(NamedTuple):
    """One option: `-f, --filename PATH`, and what it is for."""

    usage: str
    text: str


class CommandEntry(NamedTuple):
    """One command with its options; a group has none of its own but its subcommands' names."""

    path: str
    usage: str
    paragraphs: list[str]
    options: list[OptionEntry]
    subcommands: list[str]

    @property
    def summary(self) -> str:
        return self.paragraphs[0]


def command_entries() -> list[CommandEntry]:
    """The group itself, and every command below it, in the order in which help lists them."""
    return list(_walk(main, click.Context(main, info_name="steersman")))


def _walk(command: click.Command, context: click.Context) -> Iterator[CommandEntry]:
    subcommands = command.list_commands(context) if isinstance(command, click.Group) else []
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    paragraphs = inspect.cleandoc(command.help or "").replace("\f", "").split("\n\n")
    yield CommandEntry(context.command_path, usage, paragraphs, list(_options(command, context)), subcommands)
    if isinstance(command, click.Group):
        for name in subcommands:
            found = command.get_command(context, name)
            assert found is not None, "a command that is listed is there"
            yield from _walk(found, click.Context(found, info_name=name, parent=context))


def _options(command: click.Command, context: click.Context) -> Iterator[OptionEntry]:
    """Return the options, without hidden ones and `--help`."""
    for parameter in command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield OptionEntry(*record)
