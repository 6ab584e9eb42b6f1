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
        callback=writable_file,
        help="Also write an HTML page with charts and tables, which needs no network.",
    )
    return option(command)


def interactive_option(command: CommandT) -> CommandT:
    """Add `--interactive`."""
    option: Callable[[CommandT], CommandT] = click.option(
        "--interactive",
        is_flag=True,
        help="With --report: the web page with every node, pod and matrix, instead of charts.",
    )
    return option(command)


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
    from steersman.base.report import NOT_BUILT, is_page_built, render_html

    write_page(render_html(report), path)
    if not is_page_built():
        say(f"note: {NOT_BUILT}", err=True)


def write_page(page: str, path: str) -> None:
    """Write the page and print its path on standard error. Raises `InputError` if the file cannot
    be written."""
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from error
    say(f"wrote {path}", err=True)
