# SPDX-License-Identifier: Apache-2.0
"""Pods that demand a node by name have count tables of their own: these must not pile up."""

from __future__ import annotations

import numpy as np
from tests.plugins.pod_topology_spread.column_cluster import SpreadCluster
from tests.plugins.pod_topology_spread.spreading import NO_DEFAULTS, WEB, ZONE, node, web

from steersman.api.selectors import from_labels
from steersman.framework.columns import Feasible
from steersman.scheduler.plugins.pod_topology_spread.counting_columns import SpreadMatcher
from steersman.testing import PodBuilder, is_in

COUNT = 300


def cluster_of(count: int) -> SpreadCluster:
    cluster = SpreadCluster(capacity=count)
    for number in range(count):
        cluster.set_node(node(f"node{number}", f"zone{number % 3}"))
    return cluster


def daemon(number: int) -> PodBuilder:
    return web(f"daemon-{number}").required_node_affinity(fields=[is_in("metadata.name", f"node{number}")])


def tables_of_web(cluster: SpreadCluster) -> int:
    return len(list(cluster.table.matching(SpreadMatcher("default", from_labels(WEB))).domains()))


def test_tables_for_hard_constraints_are_given_up_from_time_to_time() -> None:
    cluster = cluster_of(COUNT)
    plugin = cluster.plugin(NO_DEFAULTS)
    for number in range(COUNT):
        pod = daemon(number).spread(ZONE, max_skew=COUNT, selector=WEB).info()
        kernel = plugin.filter_kernel(pod, cluster.table)
        assert kernel is not None
        assert kernel.rejected() is None
        cluster.set_pod(daemon(number).node(f"node{number}"))
    assert tables_of_web(cluster) < COUNT // 2


def test_soft_constraints_count_nothing_before_nodes_are_scored() -> None:
    cluster = cluster_of(2)
    pod = daemon(0).spread(ZONE, when="ScheduleAnyway", selector=WEB).info()
    kernel = cluster.plugin(NO_DEFAULTS).score_kernel(pod, cluster.table)
    assert kernel is not None
    assert not cluster.table.label_keys.keys()
    kernel.normalized(Feasible(np.zeros(cluster.table.capacity, np.int32), 2))
    assert cluster.table.label_keys.keys() == {"app"}
