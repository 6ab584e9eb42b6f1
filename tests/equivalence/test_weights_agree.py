# SPDX-License-Identifier: Apache-2.0
"""Weights of every size that a configuration may have: columns and groups of rows say what the scalar engine says."""

from __future__ import annotations

import pytest
from tests.equivalence.cluster import PROFILE, Cluster
from tests.equivalence.profiles import configuration

from steersman.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def weighted(plugin: str, weight: int) -> Cluster:
    """Six nodes in three zones, the largest of them tainted. A negative weight needs a greater one before it."""
    points: dict[str, object] = {"multiPoint": {"enabled": [{"name": plugin, "weight": weight}]}}
    if weight < 0:
        enabled = [{"name": "ImageLocality", "weight": 1 - weight}, {"name": plugin, "weight": weight}]
        points = {"score": {"enabled": enabled}}
    cluster = Cluster(configuration((), points))
    for number in range(6):
        node = make_node(f"n{number}").capacity(cpu=str(4 + 4 * number), memory="64Gi", pods=100)
        node = node.label(HOSTNAME, f"n{number}").label(ZONE, "abc"[number % 3])
        cluster.cache.set_node((node.taint("k=v:NoSchedule") if number == 5 else node).obj())
    return cluster


@pytest.mark.parametrize("when", ["", "DoNotSchedule", "ScheduleAnyway"])
@pytest.mark.parametrize("weight", [1, 10_000_000, 2_000_000_000, -10, -2_000_000_000])
@pytest.mark.parametrize("plugin", ["NodeResourcesFit", "PodTopologySpread"])
def test_large_and_negative_weights_choose_the_same_nodes(plugin: str, weight: int, when: str) -> None:
    cluster = weighted(plugin, weight)
    for number in range(6):
        template = make_pod(f"p{number}").label("app", "x").req(cpu="1", memory="1Gi")
        pod = cluster.pending((template.spread(ZONE, when=when, selector={"app": "x"}) if when else template).obj())
        expected = cluster.everything(cluster.scalar, pod)
        assert cluster.everything(cluster.columnar, pod) == expected
        signature = cluster.columnar._engines[PROFILE].signatures.get(pod).signature
        rows, count = signature.best_rows_by_group()
        best = expected["choice"]["top"]
        assert count == expected["number of feasible nodes"]
        assert sorted(cluster.cache.nodes.names[row] for row in rows) == best
        cluster.cache.assume(pod, best[0])
