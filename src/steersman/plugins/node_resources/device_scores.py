# SPDX-License-Identifier: Apache-2.0
"""Scores of extended resources that devices stand behind: the node's devices of the class count as what it offers.

Only where the scoring strategy names such a resource and the pod requests it. There is no column of devices: rows are scored
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from steersman.api import Node
from steersman.config import ResourceSpec
from steersman.framework.columns import ClusterScoreKernel, Feasible
from steersman.framework.device_classes import DeviceClasses, may_be_devices
from steersman.framework.handle import Handle
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import IntColumn, NodesView
from steersman.plugins.dynamic_resources import ledger_of
from steersman.plugins.dynamic_resources.allocation import DeviceTotals, Selectors


class DeviceAmounts:
    """What nodes offer of the configured resources by devices."""

    def __init__(self, resources: Sequence[ResourceSpec], classes: DeviceClasses, handle: Handle) -> None:
        self._classes = classes
        #: Positions of the configured resources that devices may stand behind.
        self._candidates = [i for i, spec in enumerate(resources) if may_be_devices(spec.name)]
        self._names = [spec.name for spec in resources]
        self._ledger = ledger_of(handle.objects, handle.gates.enabled("DRAConsumableCapacity"))
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
        return (0, 0) if device_class is None else self._totals.of(node, device_class, self._ledger.in_use())


class RowScores(ClusterScoreKernel):
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
