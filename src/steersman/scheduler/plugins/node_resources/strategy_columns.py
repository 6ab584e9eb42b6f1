# SPDX-License-Identifier: Apache-2.0
"""The vector form of `strategies`: score kernels of NodeResourcesFit, one class per strategy.

Shares are computed in float64 where that is exact, else in int64. The average of two resources, the
default, has a `row` without a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.config import ScoringStrategy, ScoringStrategyType
from steersman.framework import MAX_INT64, IntColumn, NodesView, ScoreKernel, go_round
from steersman.scheduler.plugins.node_resources.allocation import (
    HUNDRED,
    ONE,
    ORDINARY_CAPACITY,
    ZERO,
    AllocationKernel,
    Amounts,
    FloatColumn,
    ScoredResource,
    ScoreNode,
    requested_with_minimum_column,
    scored_resources,
)
from steersman.scheduler.plugins.node_resources.strategies import FULL, shape_line, strategy_function

Shares = NDArray[np.float64]
"""float64[resources, rows]"""

#: Below this, 100 times a capacity is exact in float64, and a fractional quotient is never rounded
#: to the next integer: it is 1/2**46 or more away, further than the spacing of floats up to 100.
_EXACT_AS_FLOAT: Final = 1 << 46


def strategy_kernel(strategy: ScoringStrategy, requests: Sequence[int], view: NodesView) -> ScoreKernel:
    """Return the kernel of `strategy.type` for these requests, in the order of the resources."""
    resources = scored_resources(strategy.resources, requests, view, requested_with_minimum_column)
    taking_part = msgspec.structs.replace(strategy, resources=tuple(resource.spec for resource in resources))
    score_node = strategy_function(taking_part)
    match strategy.type:
        case ScoringStrategyType.REQUESTED_TO_CAPACITY_RATIO:
            return RequestedToCapacityRatio(resources, view, score_node, shape_line(strategy))
        case ScoringStrategyType.MOST_ALLOCATED:
            return MostAllocated(resources, view, score_node)
        case _:
            kind = LeastAllocatedOfTwo if len(resources) == 2 else LeastAllocated
            return kind(resources, view, score_node)


class AverageKernel(AllocationKernel):
    """Scores by a share of each offered resource; resources that a row does not offer score 0."""

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView, score_node: ScoreNode) -> None:
        super().__init__(resources, view, score_node)
        self._weights = np.array([[float(resource.spec.weight)] for resource in resources])
        self._weighs_alike = bool((self._weights == 1).all())
        self._weight_sum = np.array(self._weights.sum())

    def average(self, scores: Shares, offered: Amounts) -> IntColumn:
        """Return the average by the weights of the resources, rounded down."""
        if not self._weighs_alike:
            scores *= self._weights
        average: FloatColumn = scores[0] + scores[1] if len(scores) == 2 else np.add.reduce(scores)
        if np.count_nonzero(offered) == offered.size:
            average /= self._weight_sum
        else:
            average /= np.maximum(np.add.reduce((offered != 0) * self._weights), 1)
        return average.astype(np.int64)


class LeastAllocated(AverageKernel):
    """The average free share."""

    def row(self, row: int) -> int:
        node_score = weight_sum = 0
        for weight, wanted, offered, used in self.cells:
            capacity, requested = offered[row], used[row] + wanted
            if not (0 <= capacity < ORDINARY_CAPACITY and 0 <= requested <= MAX_INT64):
                return self.scalar_score(row)
            if capacity:
                if requested < capacity:
                    node_score += (capacity - requested) * FULL // capacity * weight
                weight_sum += weight
        return node_score // weight_sum if weight_sum else 0

    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        free = offered - used
        free -= self.wanted
        np.maximum(free, ZERO, out=free)
        return self.average(percent(free, offered, largest), offered)


class LeastAllocatedOfTwo(LeastAllocated):
    """The strategy LeastAllocated for two resources, the default, without loops."""

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView, score_node: ScoreNode) -> None:
        super().__init__(resources, view, score_node)
        first, second = self.cells
        self._weight_1, self._wanted_1, self._offered_1, self._used_1 = first
        self._weight_2, self._wanted_2, self._offered_2, self._used_2 = second
        self._both_weights = self._weight_1 + self._weight_2

    def row(self, row: int) -> int:
        capacity_1, requested_1 = self._offered_1[row], self._used_1[row] + self._wanted_1
        capacity_2, requested_2 = self._offered_2[row], self._used_2[row] + self._wanted_2
        if 0 <= requested_1 < capacity_1 < ORDINARY_CAPACITY and 0 <= requested_2 < capacity_2 < ORDINARY_CAPACITY:
            share_1 = (capacity_1 - requested_1) * FULL // capacity_1
            share_2 = (capacity_2 - requested_2) * FULL // capacity_2
            return (share_1 * self._weight_1 + share_2 * self._weight_2) // self._both_weights
        return super().row(row)


class MostAllocated(AverageKernel):
    """The average used share."""

    def row(self, row: int) -> int:
        node_score = weight_sum = 0
        for weight, wanted, offered, used in self.cells:
            capacity, requested = offered[row], used[row] + wanted
            if not (0 <= capacity < ORDINARY_CAPACITY and 0 <= requested <= MAX_INT64):
                return self.scalar_score(row)
            if capacity:
                node_score += (requested * FULL // capacity if requested < capacity else FULL) * weight
                weight_sum += weight
        return node_score // weight_sum if weight_sum else 0

    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        requested = used + self.wanted
        np.minimum(requested, offered, out=requested)
        return self.average(percent(requested, offered, largest), offered)


class RequestedToCapacityRatio(AllocationKernel):
    """The utilisation mapped by a shape; resources that score 0 do not count in the average."""

    def __init__(
        self,
        resources: Sequence[ScoredResource],
        view: NodesView,
        score_node: ScoreNode,
        line: Callable[[int], int],
    ) -> None:
        super().__init__(resources, view, score_node)
        #: Score by utilisation in percent.
        self._line_cell = [line(utilization) for utilization in range(FULL + 1)]
        self._line = np.array(self._line_cell, np.float64)

    def row(self, row: int) -> int:
        node_score = weight_sum = 0
        for weight, wanted, offered, used in self.cells:
            capacity, requested = offered[row], used[row] + wanted
            if not (0 <= capacity < ORDINARY_CAPACITY and 0 <= requested <= MAX_INT64):
                return self.scalar_score(row)
            if capacity:
                score = self._line_cell[requested * FULL // capacity if requested < capacity else FULL]
                if score > 0:
                    node_score += score * weight
                    weight_sum += weight
        return go_round(node_score / weight_sum) if weight_sum else 0

    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        node_score, weight_sum = np.zeros(len(offered[0])), np.zeros(len(offered[0]))
        for resource, capacity, amount in zip(self.resources, offered, used, strict=True):
            utilization = percent(np.minimum(amount + resource.wanted, capacity), capacity, largest)
            score = self._line[utilization.astype(np.intp)]
            score *= capacity != 0
            node_score += score * resource.spec.weight
            weight_sum += np.multiply(score > 0, resource.spec.weight)
        average = node_score / np.maximum(weight_sum, 1)
        whole = np.floor(average)
        whole += average - whole >= 0.5
        return whole.astype(np.int64)


def percent(part: Amounts, whole: Amounts, largest: int) -> Shares:
    """Return 100 · part / whole rounded down, for 0 ≤ part ≤ whole ≤ largest; 0 if whole is 0."""
    hundredfold: Amounts = part * HUNDRED
    divisor: Amounts = np.maximum(whole, ONE)
    if largest >= _EXACT_AS_FLOAT:
        return (hundredfold // divisor).astype(np.float64)
    quotient: Shares = hundredfold / divisor
    np.floor(quotient, out=quotient)
    return quotient
