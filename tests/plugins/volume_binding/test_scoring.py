# SPDX-License-Identifier: Apache-2.0
"""With the feature StorageCapacityScoring on, nodes whose volumes fit their claims well are preferred."""

from __future__ import annotations

from tests.plugins.volume_binding.cluster import Cycle, VolumeCluster

from steersman import api
from steersman.api.persistent_volumes import NO_PROVISIONER
from steersman.config import UtilizationShapePoint, VolumeBindingArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import SKIP
from steersman.testing import (
    is_in,
    make_claim,
    make_node,
    make_pod,
    make_storage_capacity,
    make_storage_class,
    make_volume,
)

NODES = [make_node(name).label("host", name) for name in ("a", "b", "c")]
LOCAL = make_storage_class("local").waits().provisioner(NO_PROVISIONER)
FAST = make_storage_class("fast").waits().provisioner("disk.example.com")
GATES = {"StorageCapacityScoring": True}
SHAPE = VolumeBindingArgs(shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)))
BENT = VolumeBindingArgs(
    shape=(UtilizationShapePoint(0, 0), UtilizationShapePoint(50, 3), UtilizationShapePoint(100, 5))
)
CLAIM = make_claim("data").storage_class("local").asks("50Gi")
VOLUMES = [
    make_volume(f"v-{host}").storage_class("local").offers(size).on(is_in("host", host))
    for host, size in (("a", "200Gi"), ("b", "100Gi"), ("c", "50Gi"))
]


def scores(cluster: VolumeCluster) -> dict[str, int]:
    cycle = Cycle(cluster, make_pod().pvc("data"))
    found = {}
    for info in cluster.handle.nodes.all():
        if cycle.filter(info.name) is None:
            found[info.name] = cluster.plugin.score(cycle.state, cycle.pod, info)
    return found


def test_the_score_is_skipped_by_default() -> None:
    assert VolumeCluster().plugin.pre_score(CycleState(), make_pod().info(), ()) == SKIP


def test_tight_volumes_score_high() -> None:
    cluster = VolumeCluster(CLAIM, *VOLUMES, LOCAL, nodes=NODES, args=SHAPE, gates=GATES)
    assert cluster.plugin.pre_score(CycleState(), make_pod().info(), ()) is None
    assert scores(cluster) == {"a": 25, "b": 50, "c": 100}


def test_the_shape_decides() -> None:
    cluster = VolumeCluster(CLAIM, *VOLUMES, LOCAL, nodes=NODES, args=BENT, gates=GATES)
    assert scores(cluster) == {"a": 15, "b": 30, "c": 50}


def test_volumes_to_be_made_are_measured_by_the_capacity_that_is_left() -> None:
    claim = make_claim("data").storage_class("fast").asks("50Gi")
    spec = api.CSIDriverSpec(storage_capacity=True)
    driver = api.CSIDriver(metadata=api.ObjectMeta(name="disk.example.com"), spec=spec)
    pools = [
        make_storage_capacity(f"pool-{host}").storage_class("fast").capacity(size).on({"host": host})
        for host, size in (("a", "100Gi"), ("b", "20Gi"), ("c", "200Gi"))
    ]
    cluster = VolumeCluster(claim, FAST, driver, *pools, nodes=NODES, args=SHAPE, gates=GATES)
    assert scores(cluster) == {"a": 50, "c": 25}


def test_with_the_feature_a_pod_without_volumes_scores_nothing_and_reserves_nothing() -> None:
    cluster = VolumeCluster(nodes=NODES, args=SHAPE, gates=GATES)
    assert not cluster.plugin.concerns(make_pod().info())
    assert cluster.plugin.score(CycleState(), make_pod().info(), NODES[0].info()) == 0
