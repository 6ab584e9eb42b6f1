# SPDX-License-Identifier: Apache-2.0
"""The numbers of a scenario: waiting times, nodes, cost, what was completed. Gathered from the store while it runs.

`Measurements` listens to pods and nodes; `numbers` gives everything at the end. `expectations` compares them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from steersman import api
from steersman.api import Node, Object, Pod
from steersman.embedded import EventType
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.sim import Result, Simulation
from steersman.sim.node_costs import price_of

MEASURES: Final = {
    "arrived": "pods that came without a node",
    "pods": "those of them that are there at the end",
    "scheduled": "those of them that have a node",
    "pending": "those that wait for one",
    "preempted": "pods that had to make room for others",
    "completed": "pods that succeeded",
    "failed": "pods that failed, or whose node went",
    "attempts": "attempts to place a pod",
    "seconds": "virtual time",
    "waitP50": "seconds from a pod's arrival to its node, the median; a pod that still waits counts as far as it has",
    "waitP99": "the same: 99 of 100 pods wait no longer",
    "waitMax": "the longest waiting time",
    "maxPending": "the most pods that waited at one moment, while time passed",
    "nodes": "nodes at the end",
    "minNodes": "the fewest nodes there were",
    "maxNodes": "the most nodes there were",
    "nodesAdded": "nodes that the autoscaler added",
    "nodesRemoved": "nodes that it removed",
    "nodeHours": "the sum of the hours that nodes were there",
    "cost": "what they cost, by their prices per hour",
    "cpuShare": "the share of allocatable CPU that pods request, 0 to 1, averaged over time",
    "memoryShare": "the same of memory",
}
"""Every number that can be measured and expected, with its meaning."""
HOUR: Final = 3600.0


class _Stay(NamedTuple):
    """A node since it came, or since its price changed."""

    since: float
    price: float


class Measurements:
    """Listens to the cluster of one simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        #: By uid: key of a pod without a node, and when it came, in the order of arrival.
        self._waiting: dict[str, tuple[str, float]] = {}
        self._waits: list[float] = []
        self._arrived = 0
        self._seen_completed: set[str] = set()
        self._seen_failed: set[str] = set()
        self._nodes: dict[str, _Stay] = {}
        self._node_hours = 0.0
        self._cost = 0.0
        #: When the extremes were last looked at.
        self._noted = 0.0
        self._most_waiting = 0
        self._fewest_nodes: int | None = None
        self._most_nodes = 0
        self.nodes_added = 0
        self.nodes_removed = 0
        simulation.cluster.subscribe(self._on_node, (Node,))
        simulation.cluster.subscribe(self._on_pod, (Pod,))

    # -- what stop conditions ask ------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many pods have no node."""
        return len(self._waiting)

    @property
    def completed(self) -> int:
        """How many pods have succeeded."""
        return len(self._seen_completed)

    def longest_waiting(self) -> tuple[str, float] | None:
        """The pod that has waited longest, and since when; None if none waits."""
        return next(iter(self._waiting.values()), None)

    # -- while the scenario runs -------------------------------------------------------------------------------------

    def _note_time(self) -> None:
        """Notes the state that lasted while time passed, for the most and the least; one that came and went at one moment
        counts for neither."""
        now = self._simulation.now
        if now != self._noted:
            self._noted = now
            self._note_extremes()

    def _note_extremes(self) -> None:
        nodes = len(self._nodes)
        self._most_waiting = max(self._most_waiting, len(self._waiting))
        self._most_nodes = max(self._most_nodes, nodes)
        self._fewest_nodes = nodes if self._fewest_nodes is None else min(self._fewest_nodes, nodes)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        self._note_time()
        pod = new if new is not None else old
        assert isinstance(pod, Pod)
        uid = pod.metadata.uid
        if isinstance(new, Pod) and not new.spec.node_name and new.status.phase not in FINISHED_PHASES:
            if old is None:
                self._arrived += 1
            self._waiting.setdefault(uid, (api.key(new), self._simulation.now))
            return
        waited = self._waiting.pop(uid, None)
        if waited is not None and isinstance(new, Pod) and new.spec.node_name:
            self._waits.append(self._simulation.now - waited[1])
        if isinstance(new, Pod) and new.status.phase == "Succeeded":
            self._seen_completed.add(uid)
        elif isinstance(new, Pod) and new.status.phase == "Failed":
            self._seen_failed.add(uid)

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        self._note_time()
        node = new if new is not None else old
        assert isinstance(node, Node)
        name, now = node.metadata.name, self._simulation.now
        stay = self._nodes.pop(name, None)
        if stay is not None:
            self._charge(stay, now)
        if isinstance(new, Node):
            self._nodes[name] = _Stay(now, price_of(new))

    def _charge(self, stay: _Stay, now: float) -> None:
        hours = (now - stay.since) / HOUR
        self._node_hours += hours
        self._cost += hours * stay.price

    # -- at the end --------------------------------------------------------------------------------------------------

    def numbers(self, result: Result) -> dict[str, float]:
        """Everything in `MEASURES`, of the run that ended with this result."""
        now, summary = self._simulation.now, result.summary
        self._note_extremes()
        waits = sorted([*self._waits, *(now - since for _, since in self._waiting.values())])
        stays = list(self._nodes.values())
        hours = self._node_hours + sum(now - stay.since for stay in stays) / HOUR
        cost = self._cost + sum((now - stay.since) / HOUR * stay.price for stay in stays)
        return {
            "arrived": self._arrived,
            "pods": summary.pods,
            "scheduled": summary.scheduled,
            "pending": summary.pending,
            "preempted": summary.preempted,
            "completed": len(self._seen_completed),
            "failed": len(self._seen_failed),
            "attempts": summary.decisions,
            "seconds": summary.seconds,
            "waitP50": _percentile(waits, 0.5),
            "waitP99": _percentile(waits, 0.99),
            "waitMax": round(waits[-1], 6) if waits else 0.0,
            "maxPending": self._most_waiting,
            "nodes": len(self._nodes),
            "minNodes": self._fewest_nodes or 0,
            "maxNodes": self._most_nodes,
            "nodesAdded": self.nodes_added,
            "nodesRemoved": self.nodes_removed,
            "nodeHours": round(hours, 6),
            "cost": round(cost, 6),
            "cpuShare": _average(result.series.times, result.series.utilisation.get("cpu", ()), now),
            "memoryShare": _average(result.series.times, result.series.utilisation.get("memory", ()), now),
        }


def _average(times: Sequence[float], values: Sequence[float], end: float) -> float:
    """Over time: each value holds until the next one; that of the last moment if no time has passed."""
    if not values:
        return 0.0
    spans = [after - before for before, after in pairwise((*times, max(end, times[-1])))]
    total = sum(spans)
    if not total:
        return round(values[-1], 6)
    return round(sum(span * value for span, value in zip(spans, values, strict=True)) / total, 6)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all does not exceed."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 6) if ordered else 0.0
