# SPDX-License-Identifier: Apache-2.0
from tests.plugins.inter_pod_affinity.column_cluster import AffinityCluster
from tests.plugins.inter_pod_affinity.cycles import node_in

from steersman.config import InterPodAffinityArgs
from steersman.framework.nodes_view import AnyIntColumn
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.testing import make_pod

NODES = [node_in(name, zone=name) for name in ("none", "one", "two", "crowd")]
PODS = [make_pod(f"p{number}").label("app", "web") for number in range(2003)]
PLACED = [PODS[0].node("one"), PODS[1].node("two"), PODS[2].node("two"), *(pod.node("crowd") for pod in PODS[3:])]


def normalized(*feasible: str) -> AnyIntColumn | None:
    cluster = AffinityCluster.holding(NODES, PLACED, ())
    plugin = InterPodAffinity(InterPodAffinityArgs(), cluster.handle())
    pod = make_pod().pod_affinity("zone", {"app": "web"}, weight=100)
    kernel = plugin.score_kernel(pod.info(), cluster.table)
    assert kernel is not None
    return kernel.normalized(cluster.feasible([cluster.table.rows[name] for name in feasible]))


def test_rows_that_are_not_feasible_neither_set_nor_leave_the_bounds() -> None:
    scores = normalized("none", "one", "two")
    assert scores is not None
    assert scores[:3].tolist() == [0, 50, 100]
    assert 0 <= scores.min() <= scores.max() <= 100


def test_equally_good_rows_have_no_scores() -> None:
    assert normalized("one") is None
