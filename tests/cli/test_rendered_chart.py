# SPDX-License-Identifier: Apache-2.0
"""`steersman simulate -f` of a rendered chart: what it would create is scheduled, and the reader is told what was assumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import steersman

CHART = Path(__file__).parent / "data" / "rendered_chart.yaml"

NODES = """
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{topology.kubernetes.io/zone: {zone}}}}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "20"}}}}
---
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    file = tmp_path / "nodes.yaml"
    file.write_text("".join(NODES.format(name=f"n{n}", zone="ab"[n % 2]) for n in range(1, 4)), encoding="utf-8")
    return str(file)


def test_a_rendered_chart_schedules_what_it_would_create(cluster: str) -> None:
    result = steersman("simulate", "-f", cluster, "-f", str(CHART), "-o", "json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    placed = {placement["pod"]: placement["node"] for placement in document["placements"]}
    assert sum(pod.startswith("shop/shop-web-") for pod in placed) == 3
    assert {"shop/shop-db-0", "shop/shop-db-1"} <= placed.keys()
    agents = {node for pod, node in placed.items() if pod.startswith("shop/shop-agent-")}
    assert agents == {"n1", "n2", "n3"}
    assert document["summary"]["pending"] == 0


def test_the_reader_is_told_what_was_made_and_assumed(cluster: str) -> None:
    notes = steersman("simulate", "-f", cluster, "-f", str(CHART)).stderr
    assert "made for 1 DaemonSet, 1 Deployment, 1 StatefulSet" in notes
    assert "they are ready as soon as they start" in notes
    assert "no StorageClass is in the input" in notes


def test_without_controllers_nothing_is_made(cluster: str) -> None:
    result = steersman("simulate", "-f", cluster, "-f", str(CHART), "--no-controllers", "-o", "json")
    assert json.loads(result.stdout)["placements"] == []
    assert (
        "controllers were not to run: no pods were made for 1 DaemonSet, 1 Deployment, 1 StatefulSet" in result.stderr
    )


def test_made_pods_can_be_explained(cluster: str) -> None:
    result = steersman("simulate", "-f", cluster, "-f", str(CHART), "--explain", "shop/shop-db-1")
    assert result.exit_code == 0, result.stderr
    assert "shop/shop-db-1" in result.stdout
