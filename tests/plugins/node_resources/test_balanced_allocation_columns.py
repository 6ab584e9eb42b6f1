# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesBalancedAllocation says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import Change, ChangingCluster, ScoreCheck
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import FPGA, GPU, resources
from tests.plugins.node_resources.odd_amounts import (
    UNACCOUNTED,
    nodes_with,
    scored,
    stories,
    waiting_pods,
    within_bounds,
)

from steersman.config import NodeResourcesBalancedAllocationArgs, ResourceSpec
from steersman.framework.columns import ScoreKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.plugins.node_resources import NodeResourcesBalancedAllocation
from steersman.scheduler.plugins.node_resources.balance import balance_score
from steersman.testing import PodBuilder, make_pod


class BalancedWithinBounds(NodeResourcesBalancedAllocation):
    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return within_bounds(super().score(state, pod, node))


def plugin(specs: tuple[ResourceSpec, ...]) -> NodeResourcesBalancedAllocation:
    return BalancedWithinBounds(NodeResourcesBalancedAllocationArgs(resources=specs), FakeHandle())


def four(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    return st.lists(numbers, min_size=4, max_size=4)


@examples(120)
@given(scored, stories, waiting_pods)
def test_vector_and_scalar_form_agree(
    specs: tuple[ResourceSpec, ...], story: list[Change], pods: list[PodBuilder]
) -> None:
    cluster = ChangingCluster()
    check = ScoreCheck(plugin(specs), cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check(cluster.shapes.info(pod.obj()))


@examples(120)
@given(st.lists(four(st.sampled_from([0, 1, 3, 1000]) | st.integers(0, 1000)), min_size=1), four(st.integers(1, 1000)))
def test_deviations_of_many_shares_round_alike(offered: list[list[int]], wanted: list[int]) -> None:
    names = ("cpu", "memory", GPU, FPGA)
    cluster = nodes_with([dict(zip(names, amounts, strict=True)) for amounts in offered])
    pod = make_pod().req(**{name: f"{n}m" if name == "cpu" else n for name, n in zip(names, wanted, strict=True)})

    kernel = plugin(resources(**dict.fromkeys(names, 1))).score_kernel(pod.info(), cluster.table)

    assert isinstance(kernel, ScoreKernel)
    expected = [balance_score(wanted, [0] * 4, amounts) for amounts in offered]
    assert [int(kernel.rows(ALL_ROWS)[row]) for row in cluster.table.live_rows()] == expected
    assert [kernel.row(row) for row in cluster.table.live_rows()] == expected


def test_shares_of_amounts_that_no_float_holds_are_rounded_alike() -> None:
    cluster = nodes_with([{"cpu": 1, "memory": 15122868005378515}])
    pod = make_pod().req(cpu=0, memory=13913038564948237)
    kernel = plugin(resources(cpu=1, memory=1)).score_kernel(pod.info(), cluster.table)

    assert isinstance(kernel, ScoreKernel)
    # The balance falls from 100 to 54; the quotient that is rounded only once would make it 53.
    assert kernel.row(0) == kernel.rows(ALL_ROWS)[0] == 50 + (50 - 46) // 2


def test_requests_beyond_the_range_of_numbers_leave_the_forms_equal() -> None:
    cluster = nodes_with([{"cpu": 10, "memory": 10}, {"cpu": 10, "memory": 10}])
    cluster.apply(make_pod("wrapped").req(memory="5Ei").req(memory="5Ei").node("n0").obj())
    check = ScoreCheck(plugin(resources(cpu=1, memory=1)), cluster)

    check(make_pod().req(cpu="1m", memory=1).info())
    check(make_pod().req(memory="4Ei").req(memory="4Ei").info())


def test_pods_without_requests_have_no_kernel() -> None:
    pod = make_pod().req(**{GPU: 1})

    assert plugin(resources(cpu=1, memory=1)).score_kernel(pod.info(), nodes_with([{}]).table) is None


def test_requests_without_account_change_no_balance() -> None:
    pod = make_pod().req(**{UNACCOUNTED: 1})
    cluster = nodes_with([{"cpu": 10}])

    kernel = plugin(resources(**{UNACCOUNTED: 1})).score_kernel(pod.info(), cluster.table)

    assert isinstance(kernel, ScoreKernel)
    assert set(kernel.rows(ALL_ROWS).tolist()) == {75}
