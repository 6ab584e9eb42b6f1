# SPDX-License-Identifier: Apache-2.0
"""The example that `make run` shows."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands import steersman

QUICKSTART = Path(__file__).resolve().parents[2] / "examples" / "quickstart"


def test_the_quickstart_schedules_all_pods_but_one_and_says_why() -> None:
    result = steersman(
        "simulate",
        "-f",
        QUICKSTART / "cluster.yaml",
        "-f",
        QUICKSTART / "pods.yaml",
        "--seed",
        "1",
        "--explain",
        "web-0",
    )
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "5 Insufficient example.com/gpu" in result.stdout
    assert "15 of 16 pods scheduled on 6 nodes, 1 pending; 18 attempts in 30s of virtual time" in result.stdout
