# SPDX-License-Identifier: Apache-2.0
"""`steersman completion` and `steersman --version`."""

from __future__ import annotations

from importlib.metadata import version

import click
import pytest
from click.shell_completion import BashComplete
from tests.cli.commands import steersman

from steersman.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_every_shell_asks_steersman(shell: str) -> None:
    result = steersman("completion", shell)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert f"_STEERSMAN_COMPLETE={shell}_complete" in result.stdout


def _completions(*words: str) -> list[tuple[str, str]]:
    *arguments, incomplete = words
    complete = BashComplete(main, {}, "steersman", "_STEERSMAN_COMPLETE")
    return [(item.type, item.value) for item in complete.get_completions(arguments, incomplete)]


def test_commands_and_options_are_completed() -> None:
    assert _completions("sim") == [("plain", "simulate")]
    assert ("plain", "--fail-on-pending") in _completions("simulate", "--fail")


def test_names_of_examples_are_completed() -> None:
    assert _completions("simulate", "--example", "quick") == [("plain", "quickstart")]
    assert _completions("examples", "copy", "quick") == [("plain", "quickstart")]


def test_the_shell_is_requested_file_names_where_files_are_taken() -> None:
    takes_files = [
        ("simulate", "-f", ""),
        ("simulate", "--plugin", ""),
        ("run", "--config", ""),
        ("run", "--tls-cert-file", ""),
        ("config", "check", ""),
    ]
    for words in takes_files:
        assert _completions(*words) == [("file", "")], words


def test_version_is_an_option_and_a_command() -> None:
    expected = f"steersman {version('steersman')} (kube-scheduler v1.37.1)\n"
    assert steersman("--version").stdout == expected
    assert steersman("version").stdout == expected


def test_every_option_that_takes_a_file_says_so_to_the_shell() -> None:
    def options(command: click.Command) -> list[click.Parameter]:
        below = command.commands.values() if isinstance(command, click.Group) else ()
        return [*command.params, *(option for sub in below for option in options(sub))]

    named = [option for option in options(main) if option.metavar in ("FILE", "FILE…", "PATH", "DIR")]
    assert len(named) > 15
    assert [option.name for option in named if not isinstance(option.type, click.Path)] == []
