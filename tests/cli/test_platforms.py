# SPDX-License-Identifier: Apache-2.0
"""What the package says of operating systems is true."""

from __future__ import annotations

from importlib.metadata import metadata

import pytest
from tests.cli.commands import steersman

from steersman.cli import output


def test_the_metadata_names_the_systems_where_all_commands_run() -> None:
    classifiers = metadata("steersman").get_all("Classifier") or []
    systems = [one for one in classifiers if one.startswith("Operating System ::")]
    assert systems == ["Operating System :: MacOS", "Operating System :: POSIX :: Linux"]


@pytest.mark.parametrize(("command", "given"), [("run", ["--master", "http://127.0.0.1:1"]), ("bench", ["some.yaml"])])
def test_commands_that_need_unix_say_so_elsewhere(
    monkeypatch: pytest.MonkeyPatch, command: str, given: list[str]
) -> None:
    monkeypatch.setattr(output, "IS_UNIX", False)
    result = steersman(command, *given)
    assert result.exit_code == 2
    assert f"steersman {command} needs Linux or macOS; simulate" in result.stderr
