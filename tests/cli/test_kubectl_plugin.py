# SPDX-License-Identifier: Apache-2.0
"""`kubectl steersman …`: what kubectl runs as its plugin, with kubectl's own flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.files import write
from tests.cli.serving import serving
from tests.cli.test_explain import FILES, a_shop, kubeconfig
from tests.cli.test_plan import WEB

from steersman.cli.kubectl_plugin import main


def plugin(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_why_is_explain_of_the_cluster_that_kubectl_would_ask(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        file = kubeconfig(tmp_path, address)
        after = plugin("why", "web", "-n", "shop", "--kubeconfig", file, "-o", "json", "--no-fixes")
        before = plugin("-n", "shop", "--kubeconfig", file, "why", "web", "-o", "json", "--no-fixes")
    assert after.exit_code == before.exit_code == 1
    assert json.loads(after.stdout)["pod"] == json.loads(before.stdout)["pod"] == "shop/web"


def test_the_context_before_the_command_applies_and_one_after_it_wins(tmp_path: Path) -> None:
    with serving(a_shop()) as address:
        file = kubeconfig(tmp_path, address)
        nowhere = plugin("--context", "nowhere", "why", "web", "--kubeconfig", file)
        here = plugin("--context", "nowhere", "why", "web", "--kubeconfig", file, "--context", "here", "--no-fixes")
    assert "there is no pod web in namespace empty" in nowhere.stderr
    assert here.exit_code == 1


def test_plans_read_the_cluster_unless_files_are_named(tmp_path: Path) -> None:
    pod = write(tmp_path / "web.yaml", WEB)
    with serving(a_shop()) as address:
        live = plugin("--kubeconfig", kubeconfig(tmp_path, address), "plan", "capacity", "--pod", pod, "-o", "json")
    files = plugin("plan", "capacity", "-f", write(tmp_path / "c.yaml", FILES), "--pod", pod, "-o", "json")
    assert json.loads(live.stdout)["kind"] == json.loads(files.stdout)["kind"] == "Capacity"


def test_simulate_reads_the_current_cluster_unless_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(a_shop()) as address:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, address)))
        result = plugin("simulate", "-o", "json")
    assert "shop/web" in {placement["pod"] for placement in json.loads(result.stdout)["placements"]}


def test_other_commands_keep_their_names(tmp_path: Path) -> None:
    assert "1 of 2 pods scheduled" in plugin("simulate", "-f", write(tmp_path / "c.yaml", FILES)).stdout
    assert plugin("version").exit_code == 0
    assert "why" in plugin("--help").stdout
