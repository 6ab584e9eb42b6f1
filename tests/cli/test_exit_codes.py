# SPDX-License-Identifier: Apache-2.0
"""The exit codes of all commands are in one table and mean the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.command_tree import EXIT_CODES
from tests.cli.commands import steersman
from tests.cli.files import cluster

from steersman.cli.output import ExitCode
from steersman.simulation import Simulation


def test_the_manual_lists_every_exit_code() -> None:
    assert [int(code) for code, _ in EXIT_CODES] == [0, 1, 2, 3, 4, 130]


@pytest.mark.parametrize("command", [("simulate",), ("explain", "--all-pending"), ("plan", "drain", "n1")])
def test_a_fault_of_steersman_has_the_same_exit_code_in_every_command(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("something")

    monkeypatch.setattr(Simulation, "load", fail)
    result = steersman(*command, "-f", cluster(tmp_path))
    assert (result.exit_code, result.stdout) == (ExitCode.FAULT, "")
