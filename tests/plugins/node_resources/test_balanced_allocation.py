# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesBalancedAllocation prefers nodes whose resources the pod uses more evenly."""

from __future__ import annotations

import pytest
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import GPU, resources

from steersman.config import NodeResourcesBalancedAllocationArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.status import SKIP, Status
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation
from steersman.scheduler.plugins.node_resources.balance import balance
from steersman.testing import PodBuilder, make_node, make_pod

WITH_GPU = NodeResourcesBalancedAllocationArgs(resources=resources(cpu=1, memory=1, **{GPU: 1}))
#: cpu 3, memory 5000 in two containers.
POD = make_pod().req(cpu=1, memory=2000).req(cpu=2, memory=3000)


def plugin(args: NodeResourcesBalancedAllocationArgs | None = None) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation(args or NodeResourcesBalancedAllocationArgs(), FakeHandle())


def score(pod: PodBuilder, node: NodeInfo, args: NodeResourcesBalancedAllocationArgs | None = None) -> int | Status:
    scorer, state = plugin(args), CycleState()
    assert scorer.pre_score(state, pod.info(), [node]) is None
    return scorer.score(state, pod.info(), node)


def test_pods_without_requests_are_left_out() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info()

    assert plugin().pre_score(CycleState(), make_pod().container().info(), [node]) == SKIP
    assert plugin().pre_score(CycleState(), make_pod().req(**{GPU: 1}).info(), [node]) == SKIP
    assert plugin(WITH_GPU).pre_score(CycleState(), make_pod().req(**{GPU: 1}).info(), [node]) is None


@pytest.mark.parametrize(
    ("used_cpu", "used_memory", "cpu", "memory", "expected"),
    [
        pytest.param(0, 0, 4, 10000, 68, id="empty node, becomes uneven: 100 to 87"),
        pytest.param(0, 0, 6, 10000, 75, id="empty node, stays even"),
        pytest.param(3, 0, 10, 20000, 73, id="uneven node, becomes more so: 85 to 82"),
        pytest.param(3, 5000, 10, 20000, 74, id="fairly even node: 97 to 95"),
        pytest.param(3, 5000, 10, 50000, 70, id="large memory: 90 to 80"),
    ],
)
def test_the_change_of_the_balance_decides(
    used_cpu: int, used_memory: int, cpu: int, memory: int, expected: int
) -> None:
    node = make_node().capacity(cpu=cpu, memory=memory).info(make_pod("running").req(cpu=used_cpu, memory=used_memory))

    assert score(POD, node) == expected


def test_scores_reach_from_50_to_100() -> None:
    pod = make_pod().req(memory=5000)
    lopsided = make_node().capacity(cpu=3, memory=5000).info(make_pod("running").req(cpu=3))

    assert score(pod, lopsided) == 100
    assert score(pod, make_node().capacity(cpu=3, memory=5000).info()) == 50


def test_shares_beyond_the_capacity_count_as_full() -> None:
    node = make_node().capacity(cpu=2, memory=10000).info(make_pod("running").req(cpu=1, memory=5000))

    assert score(make_pod().req(cpu=7), node) == 62


def test_a_scalar_resource_counts_if_the_pod_requests_it() -> None:
    large = make_node().capacity(cpu="3500m", memory=40000, **{GPU: 8})
    pod = make_pod().req(cpu=0, memory=0, **{GPU: 1})

    assert score(pod, large.info(make_pod("running").req(cpu=3, memory=5000, **{GPU: 3})), WITH_GPU) == 75
    assert score(pod, large.info(make_pod("running").req(cpu=3, memory=5000)), WITH_GPU) == 76


def test_a_scalar_resource_does_not_count_if_the_pod_does_not_request_it() -> None:
    node = make_node().capacity(cpu="3500m", memory=40000, **{GPU: 8}).info(make_pod("running").req(**{GPU: 8}))

    assert score(POD, node, WITH_GPU) == 56


def test_a_node_with_only_one_of_the_resources_is_always_balanced() -> None:
    assert score(POD, make_node().capacity(cpu=4).info()) == 75


def test_containers_without_requests_count_nothing() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info(make_pod("running").container())

    assert score(POD.container(), node) == 68


def test_pod_level_requests_count() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info()

    assert score(make_pod().req(cpu=1).pod_req(cpu=3, memory=5000), node) == 68


def test_score_works_without_pre_score() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info()

    assert plugin().score(CycleState(), POD.info(), node) == 68
    assert plugin().score(CycleState(), make_pod().info(), node) == 0


@pytest.mark.parametrize(
    ("used", "allocatable", "expected"),
    [
        ((), (), 100),
        ((5,), (10,), 100),
        ((5, 0), (10, 0), 100),
        ((10, 0), (10, 10), 50),
        ((3, 1), (4, 4), 75),
        ((10, 0, 0), (10, 10, 10), 52),
        ((10, 10, 0, 0), (10, 10, 10, 10), 50),
    ],
)
def test_balance_is_one_minus_the_standard_deviation_of_the_shares(
    used: tuple[int, ...], allocatable: tuple[int, ...], expected: int
) -> None:
    assert balance(used, allocatable) == expected
