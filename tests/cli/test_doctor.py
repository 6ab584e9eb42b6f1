# SPDX-License-Identifier: Apache-2.0
"""`steersman doctor` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.cli.serving import serving
from tests.client.api_server import ApiServer


def test_a_healthy_cluster_exits_with_0() -> None:
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("0 warn, 0 fail")


def test_a_failure_exits_with_1() -> None:
    server = ApiServer()
    server.discovery.refused = {"create pods/binding"}
    with serving(server) as address:
        result = steersman("doctor", "--master", address, "-o", "json")
    assert result.exit_code == 1
    levels = [finding["level"] for finding in json.loads(result.stdout)["findings"]]
    assert levels.count("fail") == 1


def test_a_configuration_that_cannot_be_used_is_a_finding(tmp_path: Path) -> None:
    file = tmp_path / "sched.yaml"
    file.write_text("kind: Nonsense\n")
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address, "--config", file)
    assert result.exit_code == 1
    assert f"fail  config      {file}" in result.stdout


def test_the_flags_of_a_command_line_are_checked_all_at_once(tmp_path: Path) -> None:
    flags = (
        "kube-scheduler",
        "--leader-elect-resource-name=night",
        "--vmodule=a=1",
        "--min-compatibility-version=1.35",
    )
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address, "-o", "json", "--", *flags, "--cert-dir=/var/run", "-v=2")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    told = [(finding["level"], finding["message"].split()[0]) for finding in findings if finding["check"] == "flags"]
    assert told == [("fail", "--vmodule"), ("fail", "--min-compatibility-version"), ("warn", "--cert-dir")]
    assert any("kube-system/night" in finding["message"] for finding in findings)


def test_a_flag_that_does_not_exist_is_a_finding() -> None:
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address, "--", "--leader-elekt=true")
    assert result.exit_code == 1
    assert "fail  flags       No such option '--leader-elekt'" in result.stdout


def test_a_command_line_of_a_static_pod_is_fine() -> None:
    flags = ("--leader-elect=true", "--bind-address=127.0.0.1", "-v=2")
    with serving(ApiServer()) as address:
        result = steersman("doctor", "--master", address, "--", *flags)
    assert "ok    flags       the command line can be used" in result.stdout


def test_no_cluster_at_all_is_bad_input(tmp_path: Path) -> None:
    assert refused("doctor", "--kubeconfig", tmp_path / "missing").startswith("Error: ")


def test_lines_fit_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEERSMAN_WIDTH", "80")
    server = ApiServer()
    server.discovery.refused = {"create pods/binding", "list nodes", "watch nodes"}
    with serving(server) as address:
        lines = steersman("doctor", "--master", address).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    start = next(number for number, line in enumerate(lines) if line.startswith("fail  access"))
    assert lines[start + 1].startswith(" " * 18), "the text goes on below its beginning"
    advice = next(number for number, line in enumerate(lines) if line.startswith(" " * 18 + "→ "))
    assert lines[advice + 1].startswith(" " * 20), "advice goes on behind its arrow"
