# SPDX-License-Identifier: Apache-2.0
"""`--report FILE`: the answer of a command as one HTML file that people can show to others."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.output import say
from steersman.cli.parameters import CommandT
from steersman.errors import InputError

if TYPE_CHECKING:
    from steersman.report import Report


def report_option(command: CommandT) -> CommandT:
    """`--report FILE` as the parameter `report_file`; None where nothing is said."""
    option: Callable[[CommandT], CommandT] = click.option(
        "--report",
        "report_file",
        type=click.Path(),
        metavar="FILE",
        callback=_check,
        help="Also write an HTML page with charts and tables, which needs no network: steersman[report].",
    )
    return option(command)


def interactive_option(command: CommandT) -> CommandT:
    """`--interactive`, which is known before `--report` is looked at."""
    option: Callable[[CommandT], CommandT] = click.option(
        "--interactive",
        is_flag=True,
        is_eager=True,
        help="With --report: the web page with every node, pod and matrix, instead of charts.",
    )
    return option(command)


def _check(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """A callback: what would be in the way of a report is said before an hour of simulation."""
    if path is not None and not context.params.get("interactive"):
        from steersman.report.plotly_library import plotly_library

        plotly_library()
    return writable_file(context, option, path)


def writable_file(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    """A callback of options that name a file to be written in the end: refuses at once one that cannot be written."""
    if path is not None:
        file = Path(path)
        if not file.parent.is_dir():
            raise InputError("cannot be written: there is no such directory", file=path, value=str(file.parent))
        if file.is_dir():
            raise InputError("cannot be written: Is a directory", file=path)
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise InputError("cannot be written: Permission denied", file=path)
    return path


def command_line() -> str:
    """The command that is running, as one would type it again."""
    return shlex.join(["steersman", *sys.argv[1:]])


def write_report(report: Report, path: str) -> None:
    """Renders the report and says where it is, on standard error. Raises `InputError` for a file that cannot be written."""
    from steersman.report import render_html

    write_page(render_html(report), path)


def write_page(page: str, path: str) -> None:
    """Says where the page is, on standard error. Raises `InputError` for a file that cannot be written."""
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    say(f"wrote {path}", err=True)
