# SPDX-License-Identifier: Apache-2.0
"""The scoring strategies of NodeResourcesFit: how full a node may be to be liked.

Each strategy is a function of what would be requested on the node and what the node offers, resource by resource in the
configured order (see `allocation`), and answers 0..100. A resource that the node does not offer is left out of the
average. The arithmetic is Go's: quotients are cut towards zero, and a hundred times an amount from 80 Pi on wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from steersman.config import ResourceSpec, ScoringStrategy, ScoringStrategyType
from steersman.errors import InputError
from steersman.framework.go_integers import int64, int64_quotient
from steersman.framework.go_math import go_round
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.plugins.node_resources.allocation import ScoreNode

#: Shapes are configured with scores 0..10 over a utilisation in percent.
MAX_SHAPE_SCORE: Final = 10
FULL: Final = 100


def strategy_function(strategy: ScoringStrategy) -> ScoreNode:
    """The function that `strategy.type` names."""
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
    """Averages the scores of the single resources by their configured weights."""

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
    """The free share of the capacity, 0 when more is requested than there is."""
    return 0 if requested > capacity else share(int64(capacity - requested), capacity)


def most_requested_score(requested: int, capacity: int) -> int:
    """The used share of the capacity. Minimums for pods without requests may add up to more than there is."""
    return share(min(requested, capacity), capacity)


def share(part: int, whole: int) -> int:
    """The used share in percent, cut towards zero."""
    return int64_quotient(int64(part * FULL), whole)


def requested_to_capacity_ratio(resources: Sequence[ResourceSpec], line: Callable[[int], int]) -> ScoreNode:
    """Scores the utilisation by a broken line. Resources that score 0 do not count in the average."""

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
    """The configured shape as a function from a utilisation in percent to a score of 0..100."""
    ratio = strategy.requested_to_capacity_ratio
    shape = ratio.shape if ratio is not None else ()
    return broken_line([(p.utilization, p.score * (MAX_NODE_SCORE // MAX_SHAPE_SCORE)) for p in shape])


def broken_line(points: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """The function through the (utilisation, score) points: linear between them, constant before and after."""

    def score_at(utilization: int) -> int:
        if utilization <= points[0][0]:
            return points[0][1]
        for (start, score_at_start), (end, score_at_end) in pairwise(points):
            if utilization <= end:
                rise = (score_at_end - score_at_start) * (utilization - start)
                return score_at_start + int64_quotient(rise, end - start)
        return points[-1][1]

    return score_at
