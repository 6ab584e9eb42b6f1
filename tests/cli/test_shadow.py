# SPDX-License-Identifier: Apache-2.0
"""`steersman shadow` as a command: what it prints, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import refused, steersman
from tests.cli.serving import serving
from tests.live.asking import cluster


def test_it_ends_after_a_while_and_says_what_it_saw() -> None:
    with serving(cluster()) as address:
        result = steersman("shadow", "--master", address, "--duration", "200ms")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[0].endswith(": 2 nodes, 0 pods")
    assert result.stdout.splitlines()[0] == "CLASS         DECISIONS"
    assert result.stdout.splitlines()[-1] == "No decision was seen."


def test_the_document_and_the_page(tmp_path: Path) -> None:
    page = tmp_path / "shadow.html"
    with serving(cluster()) as address:
        arguments = ("--master", address, "--duration", "200ms", "-o", "json", "--report", page)
        result = steersman("shadow", *arguments, "--scheduler-name", "night")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["apiVersion"], document["kind"]) == ("shadow.steersman.dev/v1", "ShadowReport")
    assert "Does Steersman decide as the scheduler of this cluster does?" in page.read_text()


def test_run_can_be_a_shadow() -> None:
    """It gets as far as a shadow does."""
    line = refused("run", "--shadow", "--master", "http://127.0.0.1:1")
    assert line == refused("shadow", "--master", "http://127.0.0.1:1")


def test_a_name_that_no_profile_has(tmp_path: Path) -> None:
    file = tmp_path / "sched.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: day}, {schedulerName: night}]\n"
    )
    line = refused("shadow", "--config", file, "--scheduler-name", "dusk", "--master", "http://127.0.0.1:1")
    assert line == 'Error: --scheduler-name: is none of the profiles of the configuration: day, night (got "dusk")'


@pytest.mark.parametrize("address", ["here", "127.0.0.1:", ":10260", "127.0.0.1:99999"])
def test_an_address_for_metrics_that_is_none(address: str) -> None:
    assert "is not HOST:PORT" in steersman("shadow", "--metrics-address", address).stderr


def test_a_cluster_that_cannot_be_reached_is_one_line() -> None:
    line = refused("shadow", "--master", "http://127.0.0.1:1", "--duration", "1s")
    assert "127.0.0.1:1" in line


def test_a_directory_that_cannot_be_written_is_told_before_anything_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = refused("shadow", "--master", "http://127.0.0.1:1", "--differences", tmp_path / "file" / "x")
    assert "cannot be written" in line
