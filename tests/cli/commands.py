# SPDX-License-Identifier: Apache-2.0
"""Runs commands in the process of the test."""

from __future__ import annotations

from click.testing import CliRunner, Result

from steersman.cli import main


def steersman(*arguments: object, stdin: str | bytes | None = None) -> Result:
    """The command with these arguments; anything that is not an exit is a failure of the test."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin, catch_exceptions=False)


def refused(*arguments: object, stdin: str | bytes | None = None) -> str:
    """The one line on standard error of a command whose input cannot be used."""
    result = steersman(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
