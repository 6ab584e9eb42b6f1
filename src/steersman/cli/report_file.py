# SPDX-License-Identifier: Apache-2.0
"""`--report FILE`: the result of a command as one HTML file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.base import InputError
from steersman.cli.output import say
from steersman.cli.parameters import CommandT

if TYPE_CHECKING:
    from steersman.base.report import Report


def report_option(command: CommandT) -> CommandT:
    """Add `--report FILE` as the parameter `report_file`; None by default."""
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
    """Add `--interactive`, which is parsed before `--report`."""
    option: Callable[[CommandT], CommandT] = click.option(
        "--interactive",
        is_flag=True,
        is_eager=True,
        help="With --report: the web page with every node, pod and matrix, instead of charts.",
    )
    return option(command)


def _check(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Callback: check the requirements of a report before a long simulation."""
    if path is not None and not context.params.get("interactive"):
        from steersman.base.report import load_plotly_library

        load_plotly_library()
    return writable_file(context, option, path)


def writable_file(_: click.Context, __: click.Parameter, path: str | None) -> str | None:
    """Callback of options for an output file: fail immediately if it cannot be written."""
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
    """Return the current command line, quoted for a shell."""
    return shlex.join(["steersman", *sys.argv[1:]])


def write_report(report: Report, path: str) -> None:
    """Render the report and print its path on standard error. Raises `InputError` if the file
    cannot be written."""
    from steersman.base.report import render_html

    write_page(render_html(report), path)


def write_page(page: str, path: str) -> None:
    """Write the page and print its path on standard error. Raises `InputError` if the file cannot
    be written."""
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    say(f"wrote {path}", err=True)
