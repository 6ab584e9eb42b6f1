# SPDX-License-Identifier: Apache-2.0
"""Scores of extended resources that devices stand behind: the node's devices of the class count as what it offers.

Only where the scoring strategy names such a resource and the pod requests it. Devices are counted more roughly than the
search for devices does it, as upstream has it: generations, completeness and taints of pools do not matter. There is no
column of devices: rows are scored one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from steersman.api import DeviceClass, Node, ResourceSlice
from steersman.config import ResourceSpec
from steersman.derived import Derived
from steersman.framework.columns import ClusterScoreKernel, Feasible
from steersman.framework.device_classes import DeviceClasses, may_be_devices
from steersman.framework.handle import Handle, Objects
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import IntColumn, NodesView
from steersman.kept import Kept
from steersman.plugins.dynamic_resources import claim_tracker_of
from steersman.plugins.dynamic_resources.allocation import (
    AllocationFault,
    DevicesInUse,
    KnownTraits,
    PublishedDevice,
    PublishedSlice,
    Selectors,
    expressions_of,
)


class DeviceAmounts:
    """The devices that nodes offer for the configured resources."""

    def __init__(self, resources: Sequence[ResourceSpec], classes: DeviceClasses, handle: Handle) -> None:
        self._classes = classes
        #: Positions of the configured resources that devices may stand behind.
        self._candidates = [i for i, spec in enumerate(resources) if may_be_devices(spec.name)]
        self._names = [spec.name for spec in resources]
        self._tracker = claim_tracker_of(handle.objects, handle.gates.enabled("DRAConsumableCapacity"))
        self._totals = DeviceTotals(
            handle.objects, Selectors(handle.gates.enabled("DRAListTypeAttributes"), handle.clock.monotonic)
        )

    @property
    def may_matter(self) -> bool:
        """Whether a class could stand behind any of the configured resources."""
        return bool(self._candidates)

    def matter_for(self, pod_requests: Sequence[int]) -> bool:
        """Whether the pod requests a configured resource that a class stands behind."""
        return any(pod_requests[i] and self._classes.behind(self._names[i]) is not None for i in self._candidates)

    def of(self, node: Node, resource: str) -> tuple[int, int]:
        """How many devices there are, and how many of them are allocated."""
        device_class = self._classes.behind(resource)
        return (0, 0) if device_class is None else self._totals.of(node, device_class, self._tracker.in_use())


SLICES_TO_SCORE = Kept(
    name="slices to score",
    attributes=("DeviceTotals._slices",),
    holds="ResourceSlices by the node that they are tied to",
    key="node name",
    stamps="version of ResourceSlice objects (`Derived`)",
    bound="slices that there are",
    twin="`DeviceTotals._read`",
    held_equal="tests/plugins/node_resources/test_scores_of_devices.py",
)


class DeviceTotals:
    """How many devices of a class a node has, and how many are allocated. Slices are prepared when they change."""

    def __init__(self, objects: Objects, selectors: Selectors) -> None:
        self._objects = objects
        self._selectors = selectors
        #: Slices by the node that they are tied to; "": those that are not tied to one.
        self._slices: Derived[dict[str, list[PublishedSlice]]] = Derived()

    def of(self, node: Node, device_class: DeviceClass, in_use: DevicesInUse) -> tuple[int, int]:
        """All devices, and those that are allocated. Nothing where an expression of the class cannot be evaluated."""
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
        slices = self._slices.at(self._objects.version(ResourceSlice), self._read)
        for one in (*slices.get(node.metadata.name, ()), *slices.get("", ())):
            for device in one.devices if not one.reach or one.reach.includes(node) else ():
                if device.reach is None or device.reach.includes(node):
                    yield device

    def _read(self) -> dict[str, list[PublishedSlice]]:
        by_node: dict[str, list[PublishedSlice]] = {}
        known = KnownTraits()
        for one in (PublishedSlice(each, known) for each in self._objects.list(ResourceSlice)):
            by_node.setdefault(one.reach.node_name, []).append(one)
        return by_node


class DeviceRowScores(ClusterScoreKernel):
    """Asks for each feasible row. Scores are not normalised."""

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
