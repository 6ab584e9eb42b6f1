# SPDX-License-Identifier: Apache-2.0
"""A selector that cannot be understood ends the cycle with the same words in the vector form."""

from __future__ import annotations

import numpy as np
import pytest
from tests.plugins.pod_topology_spread.column_cluster import SpreadCluster
from tests.plugins.pod_topology_spread.spreading import NO_DEFAULTS, NODE_A, NODE_B, ZONE, web

from steersman.framework.columns import Feasible, KernelFault
from steersman.framework.cycle_state import CycleState
from steersman.testing import Expression

WRONG = Expression("app", "Unknown", ("web",))


def two_nodes() -> SpreadCluster:
    cluster = SpreadCluster()
    cluster.set_node(NODE_A)
    cluster.set_node(NODE_B)
    return cluster


def test_a_hard_constraint_makes_pre_filter_refuse_the_pod() -> None:
    cluster = two_nodes()
    plugin, pod = cluster.plugin(NO_DEFAULTS), web().spread(ZONE, selector=WRONG).info()
    kernel = plugin.filter_kernel(pod, cluster.table)
    assert kernel is not None
    assert not kernel.skipped()
    assert kernel.refusal() == plugin.pre_filter(CycleState(), pod, cluster.nodes(cluster.live_rows()))
    assert plugin.score_kernel(pod, cluster.table) is None


def test_a_soft_constraint_is_a_fault_of_pre_score() -> None:
    cluster = two_nodes()
    plugin, pod = cluster.plugin(NO_DEFAULTS), web().spread(ZONE, when="ScheduleAnyway", selector=WRONG).info()
    assert plugin.filter_kernel(pod, cluster.table) is None
    kernel = plugin.score_kernel(pod, cluster.table)
    assert kernel is not None
    status = plugin.pre_score(CycleState(), pod, cluster.nodes(cluster.live_rows()))
    assert status is not None
    with pytest.raises(KernelFault) as fault:
        kernel.skipped(Feasible(np.zeros(cluster.table.capacity, np.int32), 2))
    assert fault.value.status.message == f'running PreScore plugin "PodTopologySpread": {status.message}'
