# SPDX-License-Identifier: Apache-2.0
"""Nominated pods by node, and which of them are *ahead of* a pod, so that it must leave resources
for them; for all nodes at once.

Written by the owner of the nominations, one node at a time (`assembly.nominations`); read by the
cycle and by preemption. Columns are indexed by *slot*, one for each node with nominated pods. Sums
are cached by priority of the incoming pod, and a change costs in proportion to its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec, Memo
from steersman.framework import BoolColumn, IntColumn, PodInfo, int64
from steersman.scheduler.state.node_table import NodeTable

RowIndex = NDArray[np.intp]

_MIN_SLOTS = 16
_NOWHERE = -1
#: Pods have few priorities; sums are cached for the most recent ones.
_MAX_SUMS = 16


def nominated_ahead_of(pod: PodInfo, nominated: Iterable[PodInfo]) -> list[PodInfo]:
    """Return the pods nominated to a node that have at least this pod's priority."""
    return [other for other in nominated if other.priority >= pod.priority and other.uid != pod.uid]


class PodsFrom:
    """Number and requests of the nominated pods of at least one priority, by slot."""

    def __init__(self, priority: int, by_slot: Sequence[Sequence[PodInfo]]) -> None:
        self._priority = priority
        #: int64[slots].
        self.counts: IntColumn = np.zeros(len(by_slot), np.int64)
        #: bool[slots]: whether any of them uses host ports.
        self.ports: BoolColumn = np.zeros(len(by_slot), np.bool_)
        #: The counted pods, by slot.
        self.pods: list[Sequence[PodInfo]] = [()] * len(by_slot)
        self._amounts: dict[str, IntColumn] = {}
        for slot, pods in enumerate(by_slot):
            if pods:
                self.write(slot, pods)

    def amounts(self, resource: str) -> IntColumn:
        """Return int64[slots]; a resource is summed on first use."""
        column = self._amounts.get(resource)
        if column is None:
            sums = [_sum(resource, pods) for pods in self.pods]
            column = self._amounts[resource] = np.array(sums, np.int64)
        return column

    def write(self, slot: int, pods: Sequence[PodInfo]) -> None:
        """Update a slot; `pods` are all pods nominated to its node."""
        counted = self.pods[slot] = [pod for pod in pods if pod.priority >= self._priority]
        self.counts[slot] = len(counted)
        self.ports[slot] = any(pod.shape.host_ports for pod in counted)
        for resource, column in self._amounts.items():
            column[slot] = _sum(resource, counted)


NOMINATED_ROWS = CacheSpec(
    name="rows of nominations",
    attributes=("Nominations._rows",),
    contents="the row of each node that a pod is nominated to",
    key="slot",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="nodes with nominated pods",
    reference="`NodeTable.row_of` of each name",
    checked_by="tests/state/test_nominations.py",
)


NOMINATED_SUMS = CacheSpec(
    name="sums of nominations",
    attributes=("Nominations._sums",),
    contents="how many nominated pods of at least a priority a node has, and what they request",
    key="priority",
    invalidation="never: updated with every change of the cluster state",
    limit="16 most recent priorities",
    reference="`PodsFrom` rebuilt from the pods",
    checked_by="tests/state/test_nominations.py",
)


class Nominations:
    """All nominations of one cluster. A pod is nominated to at most one node."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        #: Nominated pods by node. No empty values. Only modified by `put`.
        self.by_node: dict[str, Sequence[PodInfo]] = {}
        #: Number of changes so far.
        self.version = 0
        self._slots: dict[str, int] = {}
        self._slot_of_pod: dict[str, int] = {}
        self._free: list[int] = []
        #: By slot: node, "" for a free slot; its nominated pods; and its row, -1 if there is no
        #: such node.
        self._names: list[str] = []
        self._pods: list[Sequence[PodInfo]] = []
        self._rows: Memo[RowIndex] = Memo()
        #: Sums by priority, most recently used last.
        self._sums: dict[int, PodsFrom] = {}

    def put(self, node: str, pods: Sequence[PodInfo]) -> None:
        """Set the pods nominated to the node."""
        if pods:
            self.by_node[node] = pods
        elif self.by_node.pop(node, None) is None:
            return
        self.version += 1
        slot = self._slots[node] if node in self._slots else self._take_slot(node)
        self._write(slot, pods)
        if not pods:
            del self._slots[node]
            self._names[slot] = ""
            self._current_rows()[slot] = _NOWHERE
            self._free.append(slot)

    def pods_on(self, node: str) -> Sequence[PodInfo]:
        """Return the pods nominated to the node."""
        return self.by_node.get(node, ())

    def includes(self, pod: PodInfo) -> bool:
        """Return whether the pod is nominated to a node."""
        return pod.uid in self._slot_of_pod

    def ahead_of(self, pod: PodInfo) -> NominatedAhead:
        """Return the result of `nominated_ahead_of` for every node of the table. Valid until
        nominations or nodes change."""
        rows = self._current_rows()
        sums = self._from(pod.priority)
        slots = ((sums.counts > 0) & (rows >= 0)).nonzero()[0]
        counts = sums.counts[slots]
        own = self._slot_of_pod.get(pod.uid, _NOWHERE)
        if own != _NOWHERE:
            counts[slots == own] = len(nominated_ahead_of(pod, self._pods[own]))
            slots, counts = slots[counts > 0], counts[counts > 0]
        return NominatedAhead(pod, own, slots, rows[slots], counts, sums, self._pods)

    def _from(self, priority: int) -> PodsFrom:
        sums = self._sums.pop(priority, None) or PodsFrom(priority, self._pods)
        self._sums[priority] = sums
        if len(self._sums) > _MAX_SUMS:
            del self._sums[next(iter(self._sums))]
        return sums

    def _write(self, slot: int, pods: Sequence[PodInfo]) -> None:
        for pod in self._pods[slot]:
            if self._slot_of_pod.get(pod.uid) == slot:
                del self._slot_of_pod[pod.uid]
        self._pods[slot] = pods
        for pod in pods:
            self._slot_of_pod[pod.uid] = slot
        for sums in self._sums.values():
            sums.write(slot, pods)

    def _take_slot(self, node: str) -> int:
        if not self._free:
            self._add_slots()
        slot = self._slots[node] = self._free.pop()
        self._names[slot] = node
        self._current_rows()[slot] = self._row(node)
        return slot

    def _add_slots(self) -> None:
        """Double the number of slots; rows and sums are rebuilt on demand."""
        before = len(self._names)
        added = max(before, _MIN_SLOTS)
        self._names += [""] * added
        self._pods += [()] * added
        self._free += reversed(range(before, before + added))
        self._rows.clear()
        self._sums.clear()

    def _current_rows(self) -> RowIndex:
        return self._rows.get(self._table.node_log.end, self._find_rows)

    def _find_rows(self) -> RowIndex:
        return np.array([self._row(name) for name in self._names], np.intp)

    def _row(self, node: str) -> int:
        row = self._table.row_of(node)
        return _NOWHERE if row is None else row


class NominatedAhead:
    """Nominated pods ahead of a pod, with one position for each node that has any; implements
    `framework.columns.AddedPods`."""

    __slots__ = ("_by_slot", "_own_slot", "_pod", "_slots", "_sums", "counts", "rows")

    def __init__(
        self,
        pod: PodInfo,
        own_slot: int,
        slots: RowIndex,
        rows: RowIndex,
        counts: IntColumn,
        sums: PodsFrom,
        by_slot: Sequence[Sequence[PodInfo]],
    ) -> None:
        self._pod = pod
        #: Slot of the pod's own nomination, where `sums` may include the pod itself.
        self._own_slot = own_slot
        self._slots = slots
        self._sums = sums
        self._by_slot = by_slot
        #: intp: rows of the nodes.
        self.rows = rows
        #: int64: number of these pods by position, at least one.
        self.counts = counts

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.rows)

    def amounts(self, resource: str) -> IntColumn:
        """Return int64: the sum of the requests of these pods, by position."""
        amounts: IntColumn = self._sums.amounts(resource)[self._slots]
        if self._own_slot != _NOWHERE:
            amounts[self._slots == self._own_slot] = _sum(
                resource, nominated_ahead_of(self._pod, self._by_slot[self._own_slot])
            )
        return amounts

    def with_ports(self) -> Sequence[int]:
        """Return the positions on which these pods may use host ports; others certainly do not."""
        positions: list[int] = self._sums.ports[self._slots].nonzero()[0].tolist()
        return positions

    def pods(self, position: int) -> Sequence[PodInfo]:
        return self._pods_of(int(self._slots[position]))

    def items(self) -> Iterator[tuple[int, Sequence[PodInfo]]]:
        """Iterate over the rows with their pods."""
        return zip(self.rows.tolist(), map(self._pods_of, self._slots.tolist()), strict=True)

    def _pods_of(self, slot: int) -> Sequence[PodInfo]:
        if slot == self._own_slot:
            return nominated_ahead_of(self._pod, self._by_slot[slot])
        return self._sums.pods[slot]

    def restricted_to(self, rows: BoolColumn) -> NominatedAhead:
        """Return the nominations restricted to rows in the mask."""
        chosen = rows[self.rows]
        return NominatedAhead(
            self._pod,
            self._own_slot,
            self._slots[chosen],
            self.rows[chosen],
            self.counts[chosen],
            self._sums,
            self._by_slot,
        )


def _sum(resource: str, pods: Iterable[PodInfo]) -> int:
    """Return the sum of the requests, wrapped to int64 as in the node columns."""
    return int64(sum([pod.shape.requests.get(resource, 0) for pod in pods]))
