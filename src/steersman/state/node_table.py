"""The node columns: one row per node, and everything that is counted per row.

Written by the cache (`state.cache`) on node and pod events and on assume; read by kernels through the protocol
`framework.nodes_view.NodesView`, and row by row as `NodeInfo`. A row may hold pods without a node (a pod was seen before its
node, or the node went first); such a row is not alive and nothing is scheduled there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node
from steersman.api.selectors import Requirement
from steersman.framework.nodes_view import (
    BoolColumn,
    Column,
    PodMatcher,
    TermKind,
)
from steersman.framework.pod_info import HostPort, PodInfo, PodShape
from steersman.framework.pod_resources import node_allocatable
from steersman.state.charges import Charges
from steersman.state.dirty_log import DirtyLog
from steersman.state.images import ImageTable
from steersman.state.label_columns import LabelColumns, TaintColumn
from steersman.state.node_differences import same_for_scheduling
from steersman.state.pod_counts import MatchCountsTable, PodCounts
from steersman.state.row_info import RowNodeInfo
from steersman.state.term_tables import AffinityTermTable, TermTables
from steersman.state.topology import TopologyColumn

_SMALLEST_CAPACITY = 32
#: More count tables than this are not worth pushing to on every assume: all are dropped and made again on demand.
_MOST_MATCHERS = 4096
#: The same for the tables of one matcher: pods of a DaemonSet with spread constraints ask for one each.
_MOST_DOMAIN_TABLES = 128

Key = TypeVar("Key")


class NodeTable:
    """Implements `framework.nodes_view.NodesView`, and the writes behind it."""

    def __init__(
        self, namespace_labels: Callable[[str], Mapping[str, str]], capacity: int = _SMALLEST_CAPACITY
    ) -> None:
        self._namespace_labels = namespace_labels
        #: Grows when arrays are replaced or tables forgotten: whoever keeps columns starts afresh.
        self.generation = 0
        self.namespaces_epoch = 0
        self.terms_epoch = 0
        #: Rows whose node or pods changed / whose node changed.
        self.log = DirtyLog()
        self.node_log = DirtyLog()
        #: Rows where a pod's start became known: no filter or score looks at it, but preemption does.
        self.start_log = DirtyLog()
        self._begin(capacity)

    def clear(self) -> None:
        """Takes out all nodes and pods, whatever state the columns are in."""
        self.generation += 1
        self.terms_epoch += 1
        self._begin(self.capacity)
        for row in range(self.capacity):
            self._touch_node(row)

    def _begin(self, capacity: int) -> None:
        #: Rows by node name; a row without node keeps its name while pods are there.
        self.rows: dict[str, int] = {}
        self.node_count = 0
        self.images = ImageTable()
        self.counts = PodCounts(self._namespace_labels)
        #: Sparse per-row facts: most rows have none.
        self.affinity_pods: dict[int, dict[str, PodInfo]] = {}
        self.used_ports: dict[int, set[HostPort]] = {}
        self.claim_users: dict[int, Counter[str]] = {}
        #: Per row: name ("" for a free row), node, pods by uid, allocatable amounts, view.
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.pods_on: list[dict[str, PodInfo]] = []
        self.amounts_offered: list[dict[str, int]] = []
        self._infos: list[RowNodeInfo] = []
        self._free: list[int] = []
        self.capacity = 0
        self._allocate(capacity)

    # -- reading: NodesView ------------------------------------------------------------------------------------------

    def row_of(self, name: str) -> int | None:
        row = self.rows.get(name)
        return row if row is not None and self.nodes[row] is not None else None

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        if node is None:
            raise LookupError(f"row {row} has no node")
        return node

    def info(self, row: int) -> RowNodeInfo:
        return self._infos[row]

    def live_rows(self) -> Iterator[int]:
        return (row for row in self.rows.values() if self.nodes[row] is not None)

    def allocatable(self, resource: str) -> Column:
        column = self._allocatable.get(resource)
        if column is None:
            column = self._allocatable[resource] = self._zeros()
            for row, amounts in enumerate(self.amounts_offered):
                if resource in amounts:
                    column.cell[row] = amounts[resource]
        return column

    def requested(self, resource: str) -> Column:
        column = self.requested_columns.get(resource)
        if column is None:
            column = self.requested_columns[resource] = self._zeros()
        return column

    def nonzero_requested(self, resource: str) -> Column:
        return self._nonzero[resource]

    def requirement(self, requirement: Requirement) -> BoolColumn:
        return self._labels.requirement(requirement)

    def label_values(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        return self._labels.values(key)

    def rows_with_image(self, name: str) -> Mapping[int, int]:
        return self.images.rows_with(name)

    @property
    def image_epoch(self) -> int:
        return self.images.epoch

    @property
    def rows_with_ports(self) -> Mapping[int, RowNodeInfo]:
        return {row: self._infos[row] for row in self.used_ports}

    def topology(self, key: str) -> TopologyColumn:
        column = self._topologies.get(key)
        if column is None:
            column = self._topologies[key] = TopologyColumn(key, self.capacity)
            for row in self.live_rows():
                column.set(row, self.node(row).metadata.labels.get(key))
        return column

    def matching(self, matcher: PodMatcher) -> MatchCountsTable:
        if len(self.counts.tables()) > _MOST_MATCHERS:
            self.forget_tables()
        found = self.counts.matching(matcher, self.capacity, self.alive)
        if len(found.domains) > _MOST_DOMAIN_TABLES:
            self.forget_tables()
            found = self.counts.matching(matcher, self.capacity, self.alive)
        return found

    def terms(self, kind: TermKind) -> Sequence[AffinityTermTable]:
        return self._terms.of_kind(kind)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._namespace_labels(namespace)

    def referenced_label_keys(self) -> set[str]:
        """Pod label keys that decide anything at the moment."""
        return self.counts.referenced_keys | self._terms.referenced_keys

    def label_key_count(self) -> int:
        """Changes whenever `referenced_label_keys` does."""
        return len(self.counts.referenced_keys) + len(self._terms.referenced_keys)

    def is_within_limits(self, node_name: str, wanted: Mapping[str, int]) -> bool:
        """Whether no more pods are there, and no more of what is wanted is requested, than the node can take."""
        row = self.row_of(node_name)
        if row is None:
            return True
        if self.pod_count.cell[row] > self.allowed_pods.cell[row]:
            return False
        offered = self.amounts_offered[row]
        return all(
            not amount or self.requested(resource).cell[row] <= offered.get(resource, 0)
            for resource, amount in wanted.items()
        )

    # -- writing -----------------------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """Adds the node, or replaces the object of that name. InputError, before anything changes, if it offers amounts that
        cannot be read."""
        row = self.rows.get(node.metadata.name)
        old = None if row is None else self.nodes[row]
        if row is not None and old is not None and same_for_scheduling(old, node):
            self.nodes[row] = node
            return
        amounts = node_allocatable(node)
        if row is None:
            row = self._row_for(node.metadata.name)
        moves = old is None or old.metadata.labels != node.metadata.labels or old.spec != node.spec
        if moves:
            self._detach(row)
        self._write_node(row, old, node, amounts)
        if moves:
            self._attach(row)
        self._touch_node(row)

    def remove_node(self, name: str) -> None:
        """Removes the node; its pods stay until they are removed themselves. KeyError when there is none."""
        row = self.rows[name]
        if self.nodes[row] is None:
            raise KeyError(name)
        self._detach(row)
        self.nodes[row] = None
        self.node_count -= 1
        self.alive[row] = False
        self.images.set(row, None)
        for topology in self._topologies.values():
            topology.clear(row)
        self._attach(row)
        self._touch_node(row)
        self._release_if_empty(row)

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        row = self.rows.get(node_name)
        if row is None:
            row = self._row_for(node_name)
        self.pods_on[row][pod.uid] = pod
        self._charge(pod, row, 1)

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """KeyError when no pod with that uid is on the node."""
        row = self.rows[node_name]
        self._charge(self.pods_on[row].pop(pod.uid), row, -1)
        if self.nodes[row] is None:
            self._release_if_empty(row)

    def touch(self, node_name: str) -> None:
        """A pod there changed in something that no column holds, but a plugin may look at."""
        self.log.append(self.rows[node_name])

    def touch_start(self, node_name: str) -> None:
        """The start time of a pod there changed, and nothing else."""
        self.start_log.append(self.rows[node_name])

    def namespaces_changed(self) -> None:
        """Namespace labels changed: what namespace selectors match may be different now."""
        self.namespaces_epoch += 1
        self.forget_tables()

    def forget_tables(self) -> None:
        """Drops every count table and cached column; they are made again on demand."""
        self.generation += 1
        self.counts.reset()

    # -- a pod comes or goes -----------------------------------------------------------------------------------------

    def _charge(self, pod: PodInfo, row: int, sign: int) -> None:
        shape = pod.shape
        self.charges.charge(shape, row, sign)
        self.counts.add(pod, row, sign)
        if shape.has_affinity:
            self._charge_affinity(pod, row, sign)
        if shape.host_ports:
            self._charge_ports(shape.host_ports, row, sign)
        if pod.claims:
            _tally(self.claim_users, row, pod.claims, sign)
        self.log.append(row)

    def _charge_ports(self, ports: Iterable[HostPort], row: int, sign: int) -> None:
        """As upstream has it, a port is free once one of its users has gone, even if another pod holds it too."""
        used = self.used_ports.setdefault(row, set())
        (used.update if sign > 0 else used.difference_update)(ports)
        if not used:
            del self.used_ports[row]

    def _charge_affinity(self, pod: PodInfo, row: int, sign: int) -> None:
        if sign > 0:
            self.affinity_pods.setdefault(row, {})[pod.uid] = pod
        else:
            here = self.affinity_pods[row]
            del here[pod.uid]
            if not here:
                del self.affinity_pods[row]
        self._charge_terms(pod.shape, row, sign)

    def _charge_terms(self, shape: PodShape, row: int, sign: int) -> None:
        self.terms_epoch += 1
        for table in self._terms.of_shape(shape):
            table.add(row, sign)

    # -- a node comes, changes or goes -------------------------------------------------------------------------------

    def _write_node(self, row: int, old: Node | None, node: Node, amounts: dict[str, int]) -> None:
        self.nodes[row] = node
        self.alive[row] = True
        self.node_count += old is None
        self._write_allocatable(row, amounts)
        self.unschedulable[row] = node.spec.unschedulable
        self.taints.set(row, node.spec.taints)
        labels = node.metadata.labels
        self._labels.set(row, labels)
        for key, topology in self._topologies.items():
            topology.set(row, labels.get(key))
        if old is None or old.status.images != node.status.images:
            self.images.set(row, node)

    def _write_allocatable(self, row: int, amounts: dict[str, int]) -> None:
        self.amounts_offered[row] = amounts
        for resource, column in self._allocatable.items():
            column.cell[row] = amounts.get(resource, 0)
        self.allowed_pods.cell[row] = amounts.get("pods", 0)

    def _detach(self, row: int) -> None:
        self.counts.detach(row)
        for pod in self.affinity_pods.get(row, {}).values():
            self._charge_terms(pod.shape, row, -1)

    def _attach(self, row: int) -> None:
        self.counts.attach(row)
        for pod in self.affinity_pods.get(row, {}).values():
            self._charge_terms(pod.shape, row, 1)

    def _touch_node(self, row: int) -> None:
        self.node_log.append(row)
        self.log.append(row)

    # -- rows --------------------------------------------------------------------------------------------------------

    def _row_for(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            if not self._free:
                self._grow()
            row = self.rows[name] = self._free.pop()
            self.names[row] = name
        return row

    def _release_if_empty(self, row: int) -> None:
        if not self.pods_on[row]:
            del self.rows[self.names[row]]
            self.names[row] = ""
            self.amounts_offered[row] = {}
            self._free.append(row)

    def _allocate(self, capacity: int) -> None:
        """Makes every array for `capacity` rows; what was in them is written again by `_grow`."""
        added = range(self.capacity, capacity)
        self.capacity = capacity
        self.names += ["" for _ in added]
        self.nodes += [None for _ in added]
        self.pods_on += [{} for _ in added]
        self.amounts_offered += [{} for _ in added]
        self._infos += [RowNodeInfo(self, row) for row in added]
        self._free += reversed(added)
        #: bool[capacity]: the row has a node.
        self.alive: BoolColumn = np.zeros(capacity, np.bool_)
        #: bool[capacity]: the node is cordoned.
        self.unschedulable: BoolColumn = np.zeros(capacity, np.bool_)
        #: int64[capacity]: pods on the row, assumed ones included; pods that the node takes at most.
        self.pod_count = self._zeros()
        self.allowed_pods = self._zeros()
        #: int64[capacity] by resource: millicores of cpu, base units of anything else.
        self._allocatable: dict[str, Column] = {}
        self.requested_columns: dict[str, Column] = {}
        self._nonzero = {"cpu": self._zeros(), "memory": self._zeros()}
        self.charges = Charges(self.requested, self._nonzero, self.pod_count)
        self.taints = TaintColumn(capacity)
        self._labels = LabelColumns(capacity, self._current_labels)
        self._topologies: dict[str, TopologyColumn] = {}
        self._terms = TermTables(self.topology)

    def _grow(self) -> None:
        """More rows: every array is replaced and filled again; rows keep their numbers."""
        self._allocate(self.capacity + self.capacity // 4 + _SMALLEST_CAPACITY)
        self.forget_tables()
        self.node_count = 0
        for row in self.rows.values():
            node = self.nodes[row]
            if node is not None:
                self._write_node(row, None, node, self.amounts_offered[row])
            for pod in self.pods_on[row].values():
                self.charges.charge(pod.shape, row, 1)
            for pod in self.affinity_pods.get(row, {}).values():
                self._charge_terms(pod.shape, row, 1)

    def _current_labels(self) -> Iterable[tuple[int, Mapping[str, str]]]:
        return ((row, self.node(row).metadata.labels) for row in self.live_rows())

    def _zeros(self) -> Column:
        return Column(np.zeros(self.capacity, np.int64))


def _tally(tallies: dict[int, Counter[Key]], row: int, keys: Iterable[Key], sign: int) -> None:
    counter = tallies.setdefault(row, Counter())
    for key in keys:
        counter[key] += sign
        if counter[key] <= 0:
            del counter[key]
    if not counter:
        del tallies[row]
