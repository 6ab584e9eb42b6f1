# SPDX-License-Identifier: Apache-2.0
"""The rule of NodeResourcesBalancedAllocation: how a pod changes the balance of a node's resources.

The imbalance of a node is the standard deviation of the used shares of its resources. The score
depends on its change by the pod, so that an existing imbalance does not count against the pod.

The vector form does the same float operations in the same order as the scalar form, so that the
scores are exactly equal. Two resources, the default, have a `row` without a loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from steersman.config import ResourceSpec
from steersman.framework import MAX_NODE_SCORE, IntColumn, NodesView, ScoreKernel, int64, int64_of_float, int64_quotient
from steersman.scheduler.plugins.node_resources.allocation import (
    ONE,
    AllocationKernel,
    Amounts,
    FloatColumn,
    ScoredResource,
    requested_column,
    scored_resources,
)

_HALF: Final = MAX_NODE_SCORE // 2


def balance_score(requested: Sequence[int], allocated: Sequence[int], allocatable: Sequence[int]) -> int:
    """Return 75 for an unchanged balance, up to 100 for a better and down to 50 for a worse one."""
    improvement = balance(requested, allocatable) - balance(allocated, allocatable)
    return _HALF + int64_quotient(int64(_HALF + improvement), 2)


def balance(used: Sequence[int], allocatable: Sequence[int]) -> int:
    """Return 50..100: the more even the used shares of the resources, the higher."""
    shares = [min(float(part) / float(whole), 1.0) for part, whole in zip(used, allocatable, strict=True) if whole]
    return int64_of_float((1 - standard_deviation(shares)) * MAX_NODE_SCORE)


def standard_deviation(shares: Sequence[float]) -> float:
    """Return the standard deviation in upstream's order of operations, with a shortcut for two."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    mean = _sum(shares) / len(shares)
    return math.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))


def _sum(values: Sequence[float]) -> float:
    """Return the sum from left to right; `sum` compensates rounding errors in newer Pythons."""
    total = 0.0
    for value in values:
        total += value
    return total


# -- the vector form ---------------------------------------------------------------------------------------------------

Shares = NDArray[np.float64]
"""float64[resources, rows]"""

# Arrays, which are faster in operations with columns: see `allocation.ONE`.
_FIFTY: Final = np.array(_HALF)
_A_HALF: Final = np.array(0.5)
_WHOLE: Final = np.array(1.0)
_FULL_SCORE: Final = np.array(float(MAX_NODE_SCORE))
#: Python divides integers up to this as floats; quotients of larger ones are rounded only once.
_EXACT_AS_FLOAT: Final = 1 << 53


def balance_kernel(specs: Sequence[ResourceSpec], requests: Sequence[int], view: NodesView) -> ScoreKernel:
    """Return the kernel for a pod with these requests, in the order of the configured resources."""
    resources = scored_resources(specs, requests, view, requested_column)
    of_two = len(resources) == 2 and all(resource.wanted >= 0 for resource in resources)
    return BalanceOfTwo(resources, view) if of_two else Balance(resources, view)


class Balance(AllocationKernel):
    """Scores rows by how much more evenly the resources are used with the pod."""

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView) -> None:
        super().__init__(resources, view, balance_score)

    def row(self, row: int) -> int:
        return self.scalar_score(row)

    def scores(self, offered: Amounts, used: Amounts, largest: int) -> IntColumn:
        # The share of a resource that the row does not offer is 0.
        is_complete = np.count_nonzero(offered) == offered.size
        whole = (offered if is_complete else np.maximum(offered, ONE)).astype(np.float64)
        deviation = np.empty((2, offered.shape[1]))
        for which, amounts in enumerate((used, used + self.wanted)):
            shares = np.minimum(amounts, offered) / whole
            deviation[which] = self.deviation(shares, offered, is_complete)
        # 50..100: the more even the used shares of the resources, the higher.
        np.subtract(_WHOLE, deviation, out=deviation)
        deviation *= _FULL_SCORE
        balance = deviation.astype(np.int64)
        score: IntColumn = balance[1] - balance[0]
        score += _FIFTY
        score >>= ONE
        score += _FIFTY
        return score

    def deviation(self, shares: Shares, offered: Amounts, is_complete: bool) -> FloatColumn:
        """Return the standard deviation of the used shares of the offered resources. With
        `is_complete`, every row offers all of them."""
        return _deviation(shares, offered)


class BalanceOfTwo(Balance):
    """The balance of two resources, the default, without loops."""

    def __init__(self, resources: Sequence[ScoredResource], view: NodesView) -> None:
        super().__init__(resources, view)
        first, second = self.cells
        _, self._wanted_1, self._offered_1, self._used_1 = first
        _, self._wanted_2, self._offered_2, self._used_2 = second

    def row(self, row: int) -> int:
        whole_1, used_1 = self._offered_1[row], self._used_1[row]
        whole_2, used_2 = self._offered_2[row], self._used_2[row]
        requested_1, requested_2 = used_1 + self._wanted_1, used_2 + self._wanted_2
        if not (
            used_1 >= 0
            and requested_1 < whole_1 < _EXACT_AS_FLOAT
            and used_2 >= 0
            and requested_2 < whole_2 < _EXACT_AS_FLOAT
        ):
            # The node is full, or amounts are not ordinary.
            return self.scalar_score(row)
        deviation = (used_1 / whole_1 - used_2 / whole_2) / 2
        before = int((1 - (deviation if deviation > 0 else -deviation)) * MAX_NODE_SCORE)
        deviation = (requested_1 / whole_1 - requested_2 / whole_2) / 2
        after = int((1 - (deviation if deviation > 0 else -deviation)) * MAX_NODE_SCORE)
        return _HALF + (_HALF + after - before) // 2

    def deviation(self, shares: Shares, offered: Amounts, is_complete: bool) -> FloatColumn:
        deviation: FloatColumn = shares[0] - shares[1]
        deviation *= _A_HALF
        np.abs(deviation, out=deviation)
        if not is_complete:
            # Rows that offer fewer than two of the resources are balanced.
            deviation *= offered.all(axis=0)
        return deviation


def _deviation(shares: Shares, offered: Amounts) -> FloatColumn:
    size = len(shares[0])
    number, total, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    least, greatest = np.ones(size), np.zeros(size)
    for share, whole in zip(shares, offered, strict=True):
        number += np.minimum(whole, 1)
        total += share
        np.minimum(share, least, out=least, where=whole != 0)
        np.maximum(share, greatest, out=greatest)
    np.maximum(number, 1, out=number)
    mean = total / number
    for share, whole in zip(shares, offered, strict=True):
        distance = share - mean
        distance *= distance
        distance *= whole != 0
        squares += distance
    squares /= number
    return np.where(number > 2, np.sqrt(squares), (greatest - least) / 2 * (number == 2))
