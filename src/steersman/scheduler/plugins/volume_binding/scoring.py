# SPDX-License-Identifier: Apache-2.0
"""Scores of volumes by how well they fit the requests (feature StorageCapacityScoring).

The configured shape maps the utilisation of a storage class, in percent, to a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from steersman.api import STORAGE, offered_storage, quantity, requested_storage
from steersman.config import UtilizationShapePoint
from steersman.framework import MAX_NODE_SCORE, go_round
from steersman.scheduler.plugins.volume_binding.volume_finder import Binding, PodVolumes, Provision

MAX_UTILIZATION = 100
MAX_SHAPE_SCORE = 10

#: Requested and offered bytes by storage class.
ClassTotals = dict[str, tuple[int, int]]


class CapacityScorer:
    """Scores by one shape."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        self._points = [(point.utilization, point.score * MAX_NODE_SCORE // MAX_SHAPE_SCORE) for point in shape]

    def score(self, volumes: PodVolumes) -> int:
        """Return the mean over the classes of the bindings, or else of the provisions."""
        totals = totals_of_bindings(volumes.bindings) or totals_of_provisions(volumes.provisions)
        if not totals:
            return 0
        scores = [self._class_score(requested, offered) for requested, offered in totals.values()]
        return go_round(sum(scores) / len(scores))

    def _class_score(self, requested: int, offered: int) -> int:
        if offered == 0 or requested > offered:
            return self._at(MAX_UTILIZATION)
        return self._at(requested * MAX_UTILIZATION // offered)

    def _at(self, utilization: int) -> int:
        """Return the score on the line through the points, constant before and after them."""
        if utilization <= self._points[0][0]:
            return self._points[0][1]
        for (start, low), (end, high) in pairwise(self._points):
            if utilization <= end:
                rise = (high - low) * (utilization - start)
                steps = abs(rise) // (end - start)
                return low + (steps if rise >= 0 else -steps)
        return self._points[-1][1]


def totals_of_bindings(bindings: Sequence[Binding]) -> ClassTotals:
    totals: ClassTotals = {}
    for binding in bindings:
        name = binding.volume.spec.storage_class_name
        requested, offered = totals.get(name, (0, 0))
        requested += quantity.value(requested_storage(binding.claim))
        totals[name] = requested, offered + quantity.value(offered_storage(binding.volume))
    return totals


def totals_of_provisions(provisions: Sequence[Provision]) -> ClassTotals:
    """Return the totals by class. A class's claims share its capacity, which counts once."""
    totals: ClassTotals = {}
    for provision in provisions:
        if provision.capacity is not None and provision.capacity.capacity is not None:
            name = provision.claim.spec.storage_class_name or ""
            requests = provision.claim.spec.resources.requests
            requested = totals.get(name, (0, 0))[0] + (
                quantity.value_of(requests[STORAGE]) if STORAGE in requests else 0
            )
            totals[name] = requested, quantity.value_of(provision.capacity.capacity)
    return totals
