# SPDX-License-Identifier: Apache-2.0
"""How well the volumes that a pod would get on a node fit what it asks for, if the feature StorageCapacityScoring is on.

The configured shape gives a score to a utilisation: requests in percent of the volumes' sizes, per storage class.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from steersman.api import quantity
from steersman.api.persistent_volumes import STORAGE
from steersman.api.volume_matching import offered_storage, requested_storage
from steersman.config import UtilizationShapePoint
from steersman.framework.go_math import go_round
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.plugins.volume_binding.volume_finder import Binding, PodVolumes, Provision

MAX_UTILIZATION = 100
MAX_SHAPE_SCORE = 10

#: Requested and offered bytes by storage class.
ClassTotals = dict[str, tuple[int, int]]


class CapacityScorer:
    """Scores by one shape."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        self._points = [(point.utilization, point.score * MAX_NODE_SCORE // MAX_SHAPE_SCORE) for point in shape]

    def score(self, volumes: PodVolumes) -> int:
        """The mean over the storage classes; volumes to be bound count before those to be provisioned."""
        totals = totals_of_bindings(volumes.bindings) or totals_of_provisions(volumes.provisions)
        if not totals:
            return 0
        scores = [self._of_class(requested, offered) for requested, offered in totals.values()]
        return go_round(sum(scores) / len(scores))

    def _of_class(self, requested: int, offered: int) -> int:
        if offered == 0 or requested > offered:
            return self._at(MAX_UTILIZATION)
        return self._at(requested * MAX_UTILIZATION // offered)

    def _at(self, utilization: int) -> int:
        """On the line through the points: constant before the first and after the last."""
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
    """Claims of one class share the capacity, so that it is counted once."""
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
