# SPDX-License-Identifier: Apache-2.0
"""The example with volumes does what its text says."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman import Simulation, api
from steersman.simulation import Result

EXAMPLE = Path(__file__).parents[2] / "examples" / "volumes"
ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation.load(EXAMPLE / "cluster.yaml", EXAMPLE / "pods.yaml", seed=1)


@pytest.fixture(scope="module")
def result(simulation: Simulation) -> Result:
    return simulation.run()


def zone_of(simulation: Simulation, node: str) -> str:
    return simulation.cluster.get(api.Node, node).metadata.labels[ZONE]


def volume_of(simulation: Simulation, claim: str) -> api.PersistentVolume:
    name = simulation.cluster.get(api.PersistentVolumeClaim, f"default/{claim}").spec.volume_name
    return simulation.cluster.get(api.PersistentVolume, name)


def test_two_replicas_get_disks_in_different_zones(simulation: Simulation, result: Result) -> None:
    nodes = {result.placements[f"default/db-{index}"].node for index in (0, 1)}
    assert nodes == {"a-1", "b-1"}


def test_each_disk_is_made_in_the_zone_of_its_pod(simulation: Simulation, result: Result) -> None:
    for index in (0, 1):
        node = result.placements[f"default/db-{index}"].node
        assert node is not None
        volume = volume_of(simulation, f"data-db-{index}")
        assert volume.status.phase == "Bound"
        assert volume.spec.node_affinity is not None
        assert volume.spec.node_affinity.required is not None
        (term,) = volume.spec.node_affinity.required.node_selector_terms
        assert [(e.key, e.values) for e in term.match_expressions] == [(ZONE, (zone_of(simulation, node),))]


def test_the_third_replica_finds_no_zone(result: Result) -> None:
    message = result.placements["default/db-2"].message
    assert "node(s) didn't find available persistent volumes to bind" in message
    assert "node(s) didn't match pod anti-affinity rules" in message


def test_caches_go_where_the_local_disks_are(simulation: Simulation, result: Result) -> None:
    placed = {name: p.node for name, p in result.placements.items() if name.startswith("default/cache") and p.node}
    assert sorted(filter(None, placed.values())) == ["a-1", "c-1"]
    assert {simulation.cluster.get(api.PersistentVolume, f"local-{n}").status.phase for n in ("a-1", "c-1")} == {
        "Bound"
    }
