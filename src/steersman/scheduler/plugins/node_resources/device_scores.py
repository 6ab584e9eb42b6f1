# SPDX-License-Identifier: Apache-2.0
"""Scores of extended resources that are backed by devices: a node offers its devices of the class.

Applies only if the scoring strategy names such a resource and the pod requests it. Like upstream,
the count is less exact than device allocation: it ignores generations, completeness and taints of
pools. There is no column of devices: rows are scored one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from steersman.api import DeviceClass, Node, ResourceSlice
from steersman.base import CacheSpec, Memo
from steersman.config import ResourceSpec
from steersman.framework import (
    ClusterScoreKernel,
    DeviceClasses,
    Feasible,
    Handle,
    IntColumn,
    NodeInfo,
    NodesView,
    Objects,
    may_be_devices,
)
from steersman.scheduler.plugins.dynamic_resources import claim_tracker_of
from steersman.scheduler.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DevicesInUse,
    DeviceTraitsCache,
    PublishedDevice,
    PublishedSlice,
    Selectors,
    expressions_of,
)


class DeviceAmounts:
    """The devices that nodes offer for the configured resources."""

    def __init__(self, resources: Sequence[ResourceSpec], classes: DeviceClasses, handle: Handle) -> None:
        self._classes = classes
        #: Positions of the configured resources that devices may back.
        self._candidates = [i for i, spec in enumerate(resources) if may_be_devices(spec.name)]
        self._names = [spec.name for spec in resources]
        self._tracker = claim_tracker_of(handle.objects, handle.gates.enabled("DRAConsumableCapacity"))
        self._totals = DeviceTotals(
            handle.objects, Selectors(handle.gates.enabled("DRAListTypeAttributes"), handle.clock.monotonic)
        )

    @property
    def may_matter(self) -> bool:
        """Return whether a device class could back any of the configured resources."""
        return bool(self._candidates)

    def matter_for(self, pod_requests: Sequence[int]) -> bool:
        """Return whether the pod requests a configured resource that a device class backs."""
        return any(pod_requests[i] and self._classes.behind(self._names[i]) is not None for i in self._candidates)

    def amounts_on(self, node: Node, resource: str) -> tuple[int, int]:
        """Return the number of devices and the number of allocated devices."""
        device_class = self._classes.behind(resource)
        return (0, 0) if device_class is None else self._totals.totals_on(node, device_class, self._tracker.in_use())


SLICES_TO_SCORE = CacheSpec(
    name="slices to score",
    attributes=("DeviceTotals._slices",),
    contents="ResourceSlices by the node that they are tied to",
    key="node name",
    invalidation="version of ResourceSlice objects (`Memo`)",
    limit="all ResourceSlices",
    reference="`DeviceTotals._read`",
    checked_by="tests/plugins/node_resources/test_scores_of_devices.py",
)


class DeviceTotals:
    """The total and allocated devices of a class per node. Slices are prepared when they change."""

    def __init__(self, objects: Objects, selectors: Selectors) -> None:
        self._objects = objects
        self._selectors = selectors
        #: Slices by the node that they belong to, or "" for slices without a single node.
        self._slices: Memo[dict[str, list[PublishedSlice]]] = Memo()

    def totals_on(self, node: Node, device_class: DeviceClass, in_use: DevicesInUse) -> tuple[int, int]:
        """Return the total and allocated devices, or zeros if a class expression fails."""
        expressions = expressions_of(device_class.spec.selectors)
        total = allocated = 0
        try:
            for device in self._devices(node):
                if self._selectors.match(device, expressions):
                    total += 1
                    allocated += in_use.is_allocated(device.id)
        except AllocationFault:
            return 0, 0
        return total, allocated

    def _devices(self, node: Node) -> Iterator[PublishedDevice]:
        slices = self._slices.get(self._objects.version(ResourceSlice), self._read)
        for one in (*slices.get(node.metadata.name, ()), *slices.get("", ())):
            for device in one.devices if not one.reach or one.reach.includes(node) else ():
                if device.reach is None or device.reach.includes(node):
                    yield device

    def _read(self) -> dict[str, list[PublishedSlice]]:
        by_node: dict[str, list[PublishedSlice]] = {}
        known = DeviceTraitsCache()
        for one in (PublishedSlice(each, known) for each in self._objects.list(ResourceSlice)):
            by_node.setdefault(one.reach.node_name, []).append(one)
        return by_node


class DeviceRowScores(ClusterScoreKernel):
    """Scores each feasible row with a function. Scores are not normalised."""

    def __init__(self, view: NodesView, score: Callable[[NodeInfo], int]) -> None:
        self._view = view
        self._score = score

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        column = np.zeros(self._view.capacity, np.int64)
        for row in feasible.rows.tolist():
            column[row] = self._score(self._view.info(row))
        return column

    def normalized(self, feasible: Feasible) -> IntColumn:
        return self.raw(feasible)
