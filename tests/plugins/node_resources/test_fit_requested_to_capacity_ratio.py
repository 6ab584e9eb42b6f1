# SPDX-License-Identifier: Apache-2.0
"""The RequestedToCapacityRatio strategy scores utilisation by a broken line."""

from __future__ import annotations

import pytest
from tests.plugins.node_resources.fitting import GPU, fit_score, resources

from steersman.config import (
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    ScoringStrategyType,
    UtilizationShapePoint,
)
from steersman.framework.node_info import NodeInfo
from steersman.scheduler.plugins.node_resources.strategies import broken_line
from steersman.testing import make_node, make_pod

FALLING = {0: 10, 100: 0}
RISING = {0: 0, 100: 10}


def ratio(shape: dict[int, int], specs: tuple[ResourceSpec, ...]) -> ScoringStrategy:
    points = tuple(UtilizationShapePoint(utilization=u, score=s) for u, s in shape.items())
    return ScoringStrategy(
        type=ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO,
        resources=specs,
        requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=points),
    )


def used(cpu: str, memory: int) -> NodeInfo:
    """A node of 4 cores and 10000 bytes."""
    return make_node().capacity(cpu=4, memory=10000, **{GPU: 8}).info(make_pod("running").req(cpu=cpu, memory=memory))


@pytest.mark.parametrize(
    ("utilization", "expected"),
    [(-1, 10), (0, 10), (10, 10), (11, 11), (40, 55), (50, 70), (51, 69), (60, 55), (70, 40), (71, 40), (100, 40)],
)
def test_the_line_is_linear_between_the_points_and_constant_outside(utilization: int, expected: int) -> None:
    assert broken_line([(10, 10), (50, 70), (70, 40)])(utilization) == expected


@pytest.mark.parametrize(("utilization", "expected"), [(1, 99), (2, 98), (33, 67), (99, 1)])
def test_a_falling_line_cuts_towards_its_start(utilization: int, expected: int) -> None:
    assert broken_line([(0, 100), (100, 0)])(utilization) == expected


def test_steep_segments_cut_towards_zero() -> None:
    assert broken_line([(0, 100), (3, 90)])(1) == 97
    assert broken_line([(0, 90), (3, 100)])(1) == 93


def test_resources_are_averaged_by_weight_and_rounded() -> None:
    pod = make_pod().req(cpu=1, memory=1000)
    node = used("1", 1000)

    assert fit_score(pod, node, ratio(RISING, resources(cpu=1, memory=1))) == round((50 + 20) / 2)
    assert fit_score(pod, node, ratio(RISING, resources(cpu=1, memory=3))) == 28  # 27.5, halves away from zero
    assert fit_score(pod, node, ratio(FALLING, resources(cpu=1, memory=1))) == (50 + 80) / 2


def test_resources_that_score_nothing_do_not_weigh() -> None:
    pod = make_pod().req(cpu=1, memory=0)

    assert fit_score(pod, used("1", 0), ratio(RISING, resources(cpu=1, memory=9))) == 50


def test_a_node_that_scores_nothing_anywhere_gets_nothing() -> None:
    assert fit_score(make_pod().req(cpu=0, memory=0), used("0", 0), ratio(RISING, resources(cpu=1, memory=1))) == 0


def test_more_than_the_capacity_is_full_utilisation() -> None:
    assert fit_score(make_pod().req(cpu=5, memory=0), used("1", 0), ratio(RISING, resources(cpu=1))) == 100


def test_an_extended_resource_counts_only_for_pods_that_request_it() -> None:
    scoring = ratio(RISING, resources(cpu=1, **{GPU: 1}))

    assert fit_score(make_pod().req(cpu=1, memory=0), used("1", 0), scoring) == 50
    assert fit_score(make_pod().req(cpu=1, memory=0, **{GPU: 2}), used("1", 0), scoring) == 38  # (50 + 25) / 2
