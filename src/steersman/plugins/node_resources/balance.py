# SPDX-License-Identifier: Apache-2.0
"""How evenly the resources of a node are used, and what a pod changes about it: the rule of BalancedAllocation.

The imbalance of a node is the standard deviation of the used shares of its resources; what counts is how the pod changes
it, so that an already lopsided node is not blamed on the pod.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from steersman.framework.go_integers import int64, int64_of_float, int64_quotient
from steersman.framework.plugin import MAX_NODE_SCORE

_HALF: Final = MAX_NODE_SCORE // 2


def balance_score(requested: Sequence[int], allocated: Sequence[int], allocatable: Sequence[int]) -> int:
    """75 when the pod leaves the balance as it is, towards 100 when it improves it, towards 50 when it worsens it."""
    improvement = balance(requested, allocatable) - balance(allocated, allocatable)
    return _HALF + int64_quotient(int64(_HALF + improvement), 2)


def balance(used: Sequence[int], allocatable: Sequence[int]) -> int:
    """50..100: the evener the used shares of the resources, the higher."""
    shares = [min(float(part) / float(whole), 1.0) for part, whole in zip(used, allocatable, strict=True) if whole]
    return int64_of_float((1 - standard_deviation(shares)) * MAX_NODE_SCORE)


def standard_deviation(shares: Sequence[float]) -> float:
    """The order of the float operations is upstream's; for two shares it takes a shorter way, with other roundings."""
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    mean = _sum(shares) / len(shares)
    return math.sqrt(_sum([(share - mean) * (share - mean) for share in shares]) / len(shares))


def _sum(values: Sequence[float]) -> float:
    """From left to right; the built-in `sum` compensates rounding errors in newer versions of Python."""
    total = 0.0
    for value in values:
        total += value
    return total
