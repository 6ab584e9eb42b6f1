# SPDX-License-Identifier: Apache-2.0
"""Which nodes a constraint counts: by the pod's node affinity (unless ignored) and by taints (if honoured)."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import (
    NODE_A,
    NODE_B,
    NODE_X,
    NODE_Y,
    WEB,
    ZONE,
    fitting,
    replicas,
    spread_plugin,
    web,
)

from steersman.api import HOSTNAME_LABEL
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import PodBuilder, is_in


def some_with_disk() -> list[PlainNodeInfo]:
    """Pods 1/1/0/1; all but node y have the disk."""
    return [
        NODE_A.label("disk", "ssd").info(*replicas(1)),
        NODE_B.label("disk", "ssd").info(*replicas(1)),
        NODE_X.label("disk", "ssd").info(),
        NODE_Y.info(*replicas(1)),
    ]


def one_tainted(effect: str = "NoSchedule") -> list[PlainNodeInfo]:
    """Pods 1/1/0 with the last node tainted."""
    return [NODE_A.info(*replicas(1)), NODE_B.info(*replicas(1)), NODE_X.taint("gpu", effect=effect).info()]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(web().node_selector("disk", "ssd"), id="node selector"),
        pytest.param(web().required_node_affinity(is_in("disk", "ssd")), id="node affinity"),
    ],
)
def test_nodes_that_the_pod_cannot_use_count_only_by_policy(pod: PodBuilder) -> None:
    nodes = some_with_disk()

    assert fitting(pod.spread(ZONE, selector=WEB), nodes) == "xy"
    assert fitting(pod.spread(ZONE, selector=WEB, node_affinity_policy="Honor"), nodes) == "xy"
    assert fitting(pod.spread(ZONE, selector=WEB, node_affinity_policy="Ignore"), nodes) == "xy"
    assert fitting(pod.spread(ZONE, max_skew=2, selector=WEB, node_affinity_policy="Honor"), nodes) == "xy"
    assert fitting(pod.spread(ZONE, max_skew=2, selector=WEB, node_affinity_policy="Ignore"), nodes) == "abxy"


def test_affinity_to_a_node_name_counts() -> None:
    pod = web().required_node_affinity(fields=[is_in("metadata.name", "a")])

    assert fitting(pod.spread(HOSTNAME_LABEL, selector=WEB), some_with_disk()) == "abxy"
    assert fitting(pod.spread(HOSTNAME_LABEL, selector=WEB, node_affinity_policy="Ignore"), some_with_disk()) == "x"


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_tainted_nodes_count_unless_taints_are_honoured(effect: str) -> None:
    nodes = one_tainted(effect)

    assert fitting(web().spread(HOSTNAME_LABEL, selector=WEB), nodes) == "x"
    assert fitting(web().spread(HOSTNAME_LABEL, selector=WEB, node_taints_policy="Ignore"), nodes) == "x"
    assert fitting(web().spread(HOSTNAME_LABEL, selector=WEB, node_taints_policy="Honor"), nodes) == "abx"


def test_tolerated_and_soft_taints_do_not_exclude_a_node() -> None:
    pod = web().spread(HOSTNAME_LABEL, selector=WEB, node_taints_policy="Honor")

    assert fitting(pod.toleration("gpu"), one_tainted()) == "x"
    assert fitting(pod, one_tainted("PreferNoSchedule")) == "x"


def test_each_constraint_has_its_own_policies() -> None:
    pod = web().node_selector("disk", "ssd")
    zone_honours = pod.spread(ZONE, selector=WEB).spread(HOSTNAME_LABEL, selector=WEB, node_affinity_policy="Ignore")

    assert fitting(zone_honours, some_with_disk()) == "x"


def test_policies_are_ignored_where_the_feature_is_disabled() -> None:
    plugin = spread_plugin(gates={"NodeInclusionPolicyInPodTopologySpread": False})
    pod = web().spread(HOSTNAME_LABEL, selector=WEB, node_taints_policy="Honor")

    assert fitting(pod, one_tainted(), plugin) == "x"


def test_comparing_tolerations_count_where_the_feature_is_enabled() -> None:
    nodes = [NODE_A.info(*replicas(1)), NODE_X.taint("gpu", "5").info()]
    pod = web().toleration("gpu", "3", operator="Gt").spread(HOSTNAME_LABEL, selector=WEB, node_taints_policy="Honor")

    assert fitting(pod, nodes) == "ax"
    assert fitting(pod, nodes, spread_plugin(gates={"TaintTolerationComparisonOperators": True})) == "x"
