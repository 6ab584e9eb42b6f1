# SPDX-License-Identifier: Apache-2.0
"""Where the shipped pods go: control-plane nodes first, but never two replicas on one node while there is another one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.deploy.shipped import manifests

from steersman import Simulation
from steersman.testing import make_node

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
HOSTNAME = "kubernetes.io/hostname"
REPLICAS = ("a", "b")


def placements(folder: Path, control_plane: int, workers: int) -> list[str]:
    """The nodes of two replicas, on a cluster of so many nodes."""
    masters = [
        make_node(f"control-{index}").label(CONTROL_PLANE, "").taint(CONTROL_PLANE) for index in range(control_plane)
    ]
    nodes = [*masters, *(make_node(f"worker-{index}") for index in range(workers))]
    sized = [node.capacity(cpu="4", memory="8Gi", pods="20") for node in nodes]
    objects = [node.label(HOSTNAME, node.obj().metadata.name).obj() for node in sized]
    result = Simulation.load(*objects, replicas(folder), seed=1).run()
    return sorted(str(result.placements[f"kube-system/{name}"].node) for name in REPLICAS)


def replicas(folder: Path) -> Path:
    """A manifest with the pods of the shipped Deployment."""
    template = manifests("manifests")["Deployment", "steersman"]["spec"]["template"]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": name, "namespace": "kube-system"},
            "spec": template["spec"],
        }
        for name in REPLICAS
    ]
    path = folder / "replicas.yaml"
    path.write_text(yaml.safe_dump_all(pods))
    return path


@pytest.mark.parametrize(
    ("control_plane", "workers", "expected"),
    [
        (3, 5, ["control", "control"]),
        (1, 5, ["control", "worker"]),
        (0, 5, ["worker", "worker"]),
    ],
)
def test_replicas_run_on_different_nodes_and_prefer_the_control_plane(
    tmp_path: Path, control_plane: int, workers: int, expected: list[str]
) -> None:
    nodes = placements(tmp_path, control_plane, workers)
    assert [node.partition("-")[0] for node in nodes] == expected
    assert len(set(nodes)) == 2


def test_on_a_single_node_both_run(tmp_path: Path) -> None:
    assert placements(tmp_path, 1, 0) == ["control-0", "control-0"]
