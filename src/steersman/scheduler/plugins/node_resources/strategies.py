# SPDX-License-Identifier: Apache-2.0
"""The scoring strategies of NodeResourcesFit: scores by utilisation of the node.

Each strategy is a function of the requested and allocatable amounts in configured order (see
`allocation`) and returns 0..100. Resources not offered are left out of the average. As in Go,
quotients truncate towards zero, and 100 times an amount from 80 Pi on wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from steersman.base import InputError
from steersman.config import ResourceSpec, ScoringStrategy, ScoringStrategyType
from steersman.framework import MAX_NODE_SCORE, go_round, int64, int64_quotient
from steersman.scheduler.plugins.node_resources.allocation import ScoreNode

#: Shapes are configured with scores 0..10 over a utilisation in percent.
MAX_SHAPE_SCORE: Final = 10
FULL: Final = 100


def strategy_function(strategy: ScoringStrategy) -> ScoreNode:
    """Return the scoring function for `strategy.type`."""
    match strategy.type:
        case ScoringStrategyType.LEAST_ALLOCATED:
            return weighted_average(strategy.resources, least_requested_score)
        case ScoringStrategyType.MOST_ALLOCATED:
            return weighted_average(strategy.resources, most_requested_score)
        case ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
            return requested_to_capacity_ratio(strategy.resources, shape_line(strategy))
        case _:
            raise InputError(f"scoring strategy {strategy.type} is not supported")


def weighted_average(resources: Sequence[ResourceSpec], score_resource: Callable[[int, int], int]) -> ScoreNode:
    """Return a function that averages the scores of the resources by their configured weights."""

    def score(requested: Sequence[int], allocated: Sequence[int], allocatable: Sequence[int]) -> int:
        node_score = weight_sum = 0
        for spec, amount, capacity in zip(resources, requested, allocatable, strict=True):
            if capacity == 0:
                continue
            node_score = int64(node_score + score_resource(amount, capacity) * spec.weight)
            weight_sum += spec.weight
        return int64_quotient(node_score, weight_sum) if weight_sum else 0

    return score


def least_requested_score(requested: int, capacity: int) -> int:
    """Return the free share of the capacity, or 0 if more than the capacity is requested."""
    return 0 if requested > capacity else share(int64(capacity - requested), capacity)


def most_requested_score(requested: int, capacity: int) -> int:
    """Return the used share of the capacity, at most 100: per-container minimums may exceed it."""
    return share(min(requested, capacity), capacity)


def share(part: int, whole: int) -> int:
    """Return the share in percent, truncated towards zero."""
    return int64_quotient(int64(part * FULL), whole)


def requested_to_capacity_ratio(resources: Sequence[ResourceSpec], line: Callable[[int], int]) -> ScoreNode:
    """Return a function that scores by a shape. Resources that score 0 do not count."""

    def score(requested: Sequence[int], allocated: Sequence[int], allocatable: Sequence[int]) -> int:
        node_score = weight_sum = 0
        for spec, amount, capacity in zip(resources, requested, allocatable, strict=True):
            if capacity == 0:
                continue
            resource_score = line(FULL if amount > capacity else share(amount, capacity))
            if resource_score > 0:
                node_score += resource_score * spec.weight
                weight_sum += spec.weight
        return go_round(float(node_score) / float(weight_sum)) if weight_sum else 0

    return score


def shape_line(strategy: ScoringStrategy) -> Callable[[int], int]:
    """Return the configured shape as a function from utilisation in percent to score 0..100."""
    ratio = strategy.requested_to_capacity_ratio
    shape = ratio.shape if ratio is not None else ()
    return broken_line([(p.utilization, p.score * (MAX_NODE_SCORE // MAX_SHAPE_SCORE)) for p in shape])


def broken_line(points: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """Return the piecewise linear function through the points, constant before and after them."""

    def score_at(utilization: int) -> int:
        if utilization <= points[0][0]:
            return points[0][1]
        for (start, score_at_start), (end, score_at_end) in pairwise(points):
            if utilization <= end:
                rise = (score_at_end - score_at_start) * (utilization - start)
                return score_at_start + int64_quotient(rise, end - start)
        return points[-1][1]

    return score_at
