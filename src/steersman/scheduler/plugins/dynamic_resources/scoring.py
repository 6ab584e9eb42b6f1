# SPDX-License-Identifier: Apache-2.0
"""The score: the ranks of the alternatives that are allocated on a node.

The first alternative scores eight, the next seven, etc., summed up; the best node gets 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from steersman.api import AllocationResult, ResourceClaim
from steersman.framework import MAX_NODE_SCORE, ClusterScoreKernel, Feasible, IntColumn, NodesView
from steersman.scheduler.plugins.dynamic_resources.filter_cache import NodeAllocation
from steersman.scheduler.plugins.dynamic_resources.pre_filter import CycleClaims

#: The maximum number of alternatives of a request.
MAX_ALTERNATIVES = 8


def score(cycle: CycleClaims, node_name: str) -> int:
    """Return the sum of ranks, or 0 unless something is allocated on the node."""
    allocation = cycle.allocation_on(node_name)
    if allocation is None or cycle.supply is None:
        return 0
    return sum(_rank(claim, set(names)) for claim, names in _chosen(cycle, allocation))


def is_ranked(cycle: CycleClaims) -> bool:
    """Return whether any claim has alternatives."""
    return any(request.first_available for claim in cycle.claims for request in claim.spec.devices.requests)


def _chosen(cycle: CycleClaims, allocation: NodeAllocation) -> Iterator[tuple[ResourceClaim, Iterable[str]]]:
    """Yield the claims with the names of their allocated requests, old and new."""
    new = [tuple(device.request.full_name for device in devices) for devices in allocation.found]
    # As in Reserve, the allocations that other members made come last.
    found = iter([*new, *map(_requests, cycle.shared.values())])
    for claim in cycle.claims:
        known = claim.status.allocation
        yield claim, next(found, ()) if known is None else _requests(known)


def _requests(allocation: AllocationResult) -> tuple[str, ...]:
    return tuple(result.request for result in allocation.devices.results)


def _rank(claim: ResourceClaim, chosen: set[str]) -> int:
    return sum(
        MAX_ALTERNATIVES - position
        for request in claim.spec.devices.requests
        for position, alternative in enumerate(request.first_available)
        if f"{request.name}/{alternative.name}" in chosen
    )


class AlternativeScores(ClusterScoreKernel):
    """The score of the last filtered pod."""

    def __init__(self, view: NodesView, current: Callable[[], CycleClaims | None]) -> None:
        self._view = view
        self._current = current

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        column = np.zeros(self._view.capacity, np.int64)
        cycle = self._current()
        if cycle is not None and is_ranked(cycle):
            for row in feasible.rows.tolist():
                column[row] = score(cycle, self._view.info(row).name)
        return column

    def normalized(self, feasible: Feasible) -> IntColumn | None:
        cycle = self._current()
        if cycle is None or not is_ranked(cycle):
            return None
        column = self.raw(feasible)
        greatest = int(column[feasible.rows].max(initial=0))
        return column * MAX_NODE_SCORE // greatest if greatest else None
