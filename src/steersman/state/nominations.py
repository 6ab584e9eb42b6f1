# SPDX-License-Identifier: Apache-2.0
"""Nominated pods by node, and which of them are *ahead of* a pod, so that it must leave room for them: on all nodes at once.

Written by whoever knows the nominations, a node at a time (`assembly.nominations`); read by the cycle and by preemption. The
columns here are by *slot*: a node with nominated pods has one, so that they are as long as there are such nodes. For the
priorities that pods come with the sums are kept, and a change costs what it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.derived import Derived
from steersman.framework.go_integers import int64
from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.pod_info import PodInfo
from steersman.kept import Kept
from steersman.state.node_table import NodeTable

RowIndex = NDArray[np.intp]

_FEWEST_SLOTS = 16
_NOWHERE = -1
#: Pods come with few priorities; sums are kept for the latest of them.
_MOST_SUMS = 16


def nominated_ahead_of(pod: PodInfo, nominated: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods, of those nominated to a node, for which this one must leave room: of its priority or a higher one."""
    return [other for other in nominated if other.priority >= pod.priority and other.uid != pod.uid]


class PodsFrom:
    """By slot: how many pods have at least a priority, and what they request."""

    def __init__(self, priority: int, by_slot: Sequence[Sequence[PodInfo]]) -> None:
        self._priority = priority
        #: int64[slots].
        self.counts: IntColumn = np.zeros(len(by_slot), np.int64)
        #: bool[slots]: some of them use host ports.
        self.ports: BoolColumn = np.zeros(len(by_slot), np.bool_)
        self._amounts: dict[str, IntColumn] = {}
        for slot, pods in enumerate(by_slot):
            if pods:
                self.write(slot, pods)

    def amounts(self, resource: str, by_slot: Sequence[Sequence[PodInfo]]) -> IntColumn:
        """int64[slots]. A resource that was never asked for is added up now."""
        column = self._amounts.get(resource)
        if column is None:
            sums = [_sum(resource, self._of(pods)) for pods in by_slot]
            column = self._amounts[resource] = np.array(sums, np.int64)
        return column

    def write(self, slot: int, pods: Sequence[PodInfo]) -> None:
        """`pods` are all that are nominated to the slot's node."""
        counted = self._of(pods)
        self.counts[slot] = len(counted)
        self.ports[slot] = any(pod.shape.host_ports for pod in counted)
        for resource, column in self._amounts.items():
            column[slot] = _sum(resource, counted)

    def _of(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        return [pod for pod in pods if pod.priority >= self._priority]


NOMINATED_ROWS = Kept(
    name="rows of nominations",
    attributes=("Nominations._rows",),
    holds="the row of each node that a pod is nominated to",
    key="slot",
    stamps="end of the log of changed nodes (`Derived`)",
    bound="nodes with nominated pods",
    twin="`NodeTable.row_of` of each name",
    held_equal="tests/state/test_nominations.py",
)


NOMINATED_SUMS = Kept(
    name="sums of nominations",
    attributes=("Nominations._sums",),
    holds="how many nominated pods of at least a priority a node has, and what they request",
    key="priority",
    stamps="never: written with every change of the facts",
    bound="16 priorities, the latest",
    twin="`PodsFrom` made anew from the pods",
    held_equal="tests/state/test_nominations.py",
)


class Nominations:
    """All nominations of one cluster. A pod is nominated to one node at most."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        #: No empty values. Written by `put` alone.
        self.by_node: dict[str, Sequence[PodInfo]] = {}
        self._slots: dict[str, int] = {}
        self._slot_of_pod: dict[str, int] = {}
        self._free: list[int] = []
        #: By slot: the node, "" for a free slot; its nominated pods; and its row, -1 while there is no such node.
        self._names: list[str] = []
        self._pods: list[Sequence[PodInfo]] = []
        self._rows: Derived[RowIndex] = Derived()
        #: By priority: the latest asked for come last.
        self._sums: dict[int, PodsFrom] = {}

    def put(self, node: str, pods: Sequence[PodInfo]) -> None:
        """Notes that these pods are nominated to the node now, and no others."""
        if pods:
            self.by_node[node] = pods
        elif self.by_node.pop(node, None) is None:
            return
        slot = self._slots[node] if node in self._slots else self._take_slot(node)
        self._write(slot, pods)
        if not pods:
            del self._slots[node]
            self._names[slot] = ""
            self._current_rows()[slot] = _NOWHERE
            self._free.append(slot)

    def on(self, node: str) -> Sequence[PodInfo]:
        """The pods nominated to the node."""
        return self.by_node.get(node, ())

    def ahead_of(self, pod: PodInfo) -> NominatedAhead:
        """The pods of `nominated_ahead_of`, of every node of the table. Valid until nominations or nodes change."""
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
        if len(self._sums) > _MOST_SUMS:
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
        """Doubles the number of slots; rows and sums are made again on demand."""
        before = len(self._names)
        added = max(before, _FEWEST_SLOTS)
        self._names += [""] * added
        self._pods += [()] * added
        self._free += reversed(range(before, before + added))
        self._rows.forget()
        self._sums.clear()

    def _current_rows(self) -> RowIndex:
        return self._rows.at(self._table.node_log.end, self._find_rows)

    def _find_rows(self) -> RowIndex:
        return np.array([self._row(name) for name in self._names], np.intp)

    def _row(self, node: str) -> int:
        row = self._table.row_of(node)
        return _NOWHERE if row is None else row


class NominatedAhead:
    """The nominated pods ahead of a pod, a position for each node that has some; implements `framework.columns.AddedPods`."""

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
        #: Where the pod itself is nominated: there `sums` may count it among the others.
        self._own_slot = own_slot
        self._slots = slots
        self._sums = sums
        self._by_slot = by_slot
        #: intp: the nodes.
        self.rows = rows
        #: int64: the number of these pods on each, at least one.
        self.counts = counts

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.rows)

    def amounts(self, resource: str) -> IntColumn:
        """int64: the sum of what these pods request, on each node."""
        amounts: IntColumn = self._sums.amounts(resource, self._by_slot)[self._slots]
        if self._own_slot != _NOWHERE:
            amounts[self._slots == self._own_slot] = _sum(
                resource, nominated_ahead_of(self._pod, self._by_slot[self._own_slot])
            )
        return amounts

    def with_ports(self) -> Sequence[int]:
        """Positions of nodes on which these pods may use host ports: on others they do not."""
        positions: list[int] = self._sums.ports[self._slots].nonzero()[0].tolist()
        return positions

    def pods(self, position: int) -> Sequence[PodInfo]:
        return nominated_ahead_of(self._pod, self._by_slot[self._slots[position]])

    def items(self) -> Iterator[tuple[int, Sequence[PodInfo]]]:
        """The rows, each with its pods."""
        return ((row, self.pods(position)) for position, row in enumerate(self.rows.tolist()))

    def among(self, rows: BoolColumn) -> NominatedAhead:
        """The nominations of these pods on the rows that are true."""
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
    """The sum of what the pods request; it wraps around, as in the columns of nodes."""
    return int64(sum([pod.shape.requests.get(resource, 0) for pod in pods]))
