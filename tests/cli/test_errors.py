# SPDX-License-Identifier: Apache-2.0
"""Errors of commands: lines, exit codes, and tracebacks only on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.commands import steersman
from tests.cli.files import cluster

from steersman.base.errors import InputError
from steersman.cli import main
from steersman.simulation import Simulation


def test_a_fault_of_the_program_is_one_line_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("something\ninternal")

    monkeypatch.setattr(Simulation, "load", fail)
    result = steersman("simulate", "-f", cluster(tmp_path))
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: internal error: KeyError: ")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device"), "Error: No space left on device"),
        (OSError(28, "No space left on device", "answer.txt"), "Error: answer.txt: No space left on device"),
        (MemoryError(), "Error: out of memory"),
    ],
)
def test_an_error_of_the_operating_system_has_no_number(
    error: BaseException, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Simulation, "load", fail)
    result = steersman("simulate", "-f", cluster(tmp_path))
    assert (result.exit_code, result.stderr) == (2, f"{line}\n")


def test_debug_shows_the_traceback() -> None:
    result = CliRunner().invoke(main, ["--debug", "simulate", "-f", "missing.yaml"])
    assert isinstance(result.exception, InputError)


def test_an_unknown_command_is_bad_input() -> None:
    assert steersman("simulat").exit_code == 2


def test_help_and_version_answer() -> None:
    assert "simulate" in steersman("--help").stdout
    assert steersman("version").stdout.startswith("steersman ")


def test_debug_shows_where_in_its_own_code_a_plugin_broke(tmp_path: Path) -> None:
    plugin = tmp_path / "rates.py"
    plugin.write_text(
        "from steersman.framework import FilterPlugin\n\n"
        "class Rates(FilterPlugin):\n"
        "    name = 'Rates'\n\n"
        "    def filter(self, pod, node):\n"
        "        return {}[node.name]\n"
    )
    command = [
        sys.executable,
        "-m",
        "steersman",
        "--debug",
        "simulate",
        "-f",
        str(cluster(tmp_path)),
        "--plugin",
        str(plugin),
    ]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    (place,) = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    assert place == f'File "{plugin}", line 7, in filter'
