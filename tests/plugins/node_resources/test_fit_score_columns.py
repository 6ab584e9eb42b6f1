# SPDX-License-Identifier: Apache-2.0
"""The scoring strategies of NodeResourcesFit say the same in their vector form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import Change, ChangingCluster, ScoreCheck
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import GPU, resources, strategy
from tests.plugins.node_resources.odd_amounts import nodes_with, scored, stories, waiting_pods, within_bounds

from steersman.config import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from steersman.framework.columns import KernelFault, ScoreKernel
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.plugins.node_resources import NodeResourcesFit
from steersman.scheduler.plugins.node_resources.allocation import ERR_NO_RESOURCES
from steersman.scheduler.plugins.node_resources.strategy_columns import percent
from steersman.testing import PodBuilder, make_pod

shapes = st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=5).map(
    lambda points: RequestedToCapacityRatioParam(
        shape=tuple(UtilizationShapePoint(utilization=u, score=s) for u, s in sorted(points.items()))
    )
)
strategies = st.builds(
    ScoringStrategy,
    type=st.sampled_from(list(ScoringStrategyType)),
    resources=scored,
    requested_to_capacity_ratio=shapes,
)


class FitWithinBounds(NodeResourcesFit):
    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return within_bounds(super().score(state, pod, node))


def plugin(scoring: ScoringStrategy) -> NodeResourcesFit:
    return FitWithinBounds(NodeResourcesFitArgs(scoring_strategy=scoring), FakeHandle())


@examples(120)
@given(strategies, stories, waiting_pods)
def test_vector_and_scalar_form_agree(scoring: ScoringStrategy, story: list[Change], pods: list[PodBuilder]) -> None:
    cluster = ChangingCluster()
    check = ScoreCheck(plugin(scoring), cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check(cluster.shapes.info(pod.obj()))


@examples(120)
@given(st.data(), st.sampled_from([2**7, 2**40, 2**46, 2**56]))
def test_shares_are_rounded_down_exactly(data: st.DataObject, limit: int) -> None:
    wholes = data.draw(st.lists(st.one_of(st.integers(limit - 99, limit - 1), st.integers(0, limit - 1)), min_size=1))
    # Shares at, and next to, a whole number of percent.
    parts = [
        min(max(whole * data.draw(st.integers(0, 100)) // 100 + data.draw(st.integers(-1, 1)), 0), whole)
        for whole in wholes
    ]

    found = percent(np.array(parts), np.array(wholes), max(wholes))

    assert found.tolist() == [100 * part // whole if whole else 0 for part, whole in zip(parts, wholes, strict=True)]


@pytest.mark.parametrize("kind", [ScoringStrategyType.LEAST_ALLOCATED, ScoringStrategyType.MOST_ALLOCATED])
def test_a_node_scores_by_the_resources_that_it_offers(kind: ScoringStrategyType) -> None:
    scoring = strategy(kind, resources(cpu=1, memory=3, **{GPU: 5}))
    cluster = nodes_with([{"cpu": 10, "memory": 10, GPU: 10}, {"cpu": 10, "memory": 10}, {"cpu": 10}, {}])
    pod = make_pod().req(cpu="2m", memory=5, **{GPU: 1})

    kernel = plugin(scoring).score_kernel(pod.info(), cluster.table)

    used = [(20 * 1 + 50 * 3 + 10 * 5) // 9, (20 * 1 + 50 * 3) // 4, 20, 0]
    free = [(80 * 1 + 50 * 3 + 90 * 5) // 9, (80 * 1 + 50 * 3) // 4, 80, 0]
    expected = used if kind is ScoringStrategyType.MOST_ALLOCATED else free
    assert isinstance(kernel, ScoreKernel)
    assert kernel.rows(ALL_ROWS)[: len(expected)].tolist() == expected


@pytest.mark.parametrize("kind", [ScoringStrategyType.LEAST_ALLOCATED, ScoringStrategyType.MOST_ALLOCATED])
def test_requests_beyond_the_range_of_numbers_leave_the_forms_equal(kind: ScoringStrategyType) -> None:
    cluster = nodes_with([{"cpu": 10, "memory": 10}, {"cpu": 10, "memory": 10}])
    cluster.apply(make_pod("wrapped").req(memory="5Ei").req(memory="5Ei").node("n0").obj())
    check = ScoreCheck(plugin(strategy(kind)), cluster)

    check(make_pod().req(cpu="1m", memory=1).info())
    check(make_pod().req(memory="4Ei").req(memory="4Ei").info())


def test_a_pod_that_no_configured_resource_counts_for_scores_nothing() -> None:
    scoring = strategy(ScoringStrategyType.LEAST_ALLOCATED, resources(**{GPU: 1}))
    cluster = nodes_with([{"cpu": 10, GPU: 10}])

    kernel = plugin(scoring).score_kernel(make_pod().info(), cluster.table)

    assert isinstance(kernel, ScoreKernel)
    assert not kernel.rows(ALL_ROWS).any()


def test_without_resources_there_is_nothing_to_score_by() -> None:
    with pytest.raises(KernelFault, match=ERR_NO_RESOURCES):
        plugin(ScoringStrategy(resources=())).score_kernel(make_pod().info(), nodes_with([{}]).table)


def test_pods_that_count_for_the_same_amounts_share_a_column() -> None:
    specs = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
    scorer = plugin(ScoringStrategy(resources=specs))
    pods = (
        make_pod("one").req(cpu="300m", memory=5),
        make_pod("other").req(cpu="200m", memory=5).req(memory=0, **{GPU: 1}),
    )

    assert len({scorer.score_fragment(pod.info()) for pod in pods}) == 1
