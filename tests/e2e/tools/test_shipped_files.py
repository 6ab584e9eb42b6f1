# SPDX-License-Identifier: Apache-2.0
"""Alerts, completions and the man page, read by the programs that they are for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from tests.cli.commands import steersman
from tests.deploy.shipped import DEPLOY
from tests.e2e.tools.programs import required

ALERTS = DEPLOY / "monitoring" / "alerts" / "prometheusrule.yaml"
PAGE = Path(__file__).parents[3] / "man" / "steersman.1"


def run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)


def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    groups = yaml.safe_load(ALERTS.read_text("utf-8"))["spec"]
    file.write_text(yaml.safe_dump(groups))
    done = run(required("promtool"), "check", "rules", str(file))
    assert done.returncode == 0, done.stderr
    rules = sum(len(group["rules"]) for group in groups["groups"])
    assert f"SUCCESS: {rules} rules found" in done.stdout


def test_prometheus_refuses_rules_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("groups: [{name: g, rules: [{alert: A, expr: 'rate(x'}]}]")
    assert run(required("promtool"), "check", "rules", str(file)).returncode != 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_read_its_completion_script(shell: str) -> None:
    script = steersman("completion", shell).stdout
    done = run(required(shell), "-n", text=script)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_would_notice_a_script_that_breaks_off(shell: str) -> None:
    script = steersman("completion", shell).stdout
    assert run(required(shell), "-n", text=f"{script}\nif true; then (\n").returncode != 0


def test_the_man_page_formats_without_a_warning() -> None:
    done = run(required("groff"), "-man", "-Tutf8", "-ww", "-K", "utf8", str(PAGE))
    assert (done.returncode, done.stderr) == (0, "")
    assert "simulate" in done.stdout
