# SPDX-License-Identifier: Apache-2.0
"""The node columns: one row per node, and all counts per row.

Written by the cache (`state.cache`) on node and pod events and on assume; read by kernels through
`framework.nodes_view.NodesView`, and row by row as `NodeInfo`. A row may have pods without a node
(a pod event before that of its node, or a deleted node); such a row is not alive, and nothing is
scheduled there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.api import HOSTNAME_LABEL, Node, Requirement
from steersman.base import CacheSpec, ChangeLog, WeakValueCache
from steersman.base.graph_copy import copied_attributes, emptied, finished_by, no_value, shallow
from steersman.framework import CPU, MEMORY, BoolColumn, Column, PodInfo, PodMatcher, TermKind, node_allocatable
from steersman.scheduler.state import row_classes
from steersman.scheduler.state.domain_counts import MatchCountsTable
from steersman.scheduler.state.images import ImageTable
from steersman.scheduler.state.label_columns import LabelColumns, TaintColumn, different_keys
from steersman.scheduler.state.label_keys import LabelKeysInUse
from steersman.scheduler.state.node_differences import same_for_scheduling
from steersman.scheduler.state.node_tree import NodeTree
from steersman.scheduler.state.pod_counts import PodCounts
from steersman.scheduler.state.resource_columns import OfferedAmounts, RequestedAmounts, zeros
from steersman.scheduler.state.resource_deltas import ResourceDeltas
from steersman.scheduler.state.row_classes import RowClasses
from steersman.scheduler.state.row_info import RowNodeInfo
from steersman.scheduler.state.sparse_facts import SparseFacts
from steersman.scheduler.state.term_tables import TermsOfKind, TermTables
from steersman.scheduler.state.topology import TopologyColumn

_MIN_CAPACITY = 32
#: Share of rows to keep free when space for a list is reserved.
_SPARE_SHARE = 16
#: Unused columns and count tables are kept up to this total number of rows, within these limits on
#: their number.
_SPARE_ROWS = 1 << 18
_MIN_SPARE, _MAX_SPARE = 16, 256
_SPARE_TOPOLOGIES = 8

TOPOLOGIES = CacheSpec(
    name="topologies",
    attributes=("NodeTable._topologies",),
    contents="the topology domain of each row",
    key="topology key",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use, and a few spare ones (`WeakValueCache`)",
    reference="the label of each node",
)


NODES_BY_ZONE = CacheSpec(
    name="nodes by zone",
    attributes=("NodeTable.tree",),
    contents="the nodes' names in upstream's order",
    key="region and zone",
    invalidation="never: updated with every change of the cluster state",
    limit="the nodes",
    reference="the labels of each node",
)


class RowLayout(msgspec.Struct, frozen=True, array_like=True):
    """The rows of a table: by name in the order of the table, and the free rows."""

    rows: tuple[tuple[str, int], ...]
    #: The last one is used first.
    free: tuple[int, ...]


def _detach_copy(original: NodeTable, made: NodeTable) -> None:
    """Detach the copy from columns of the original."""
    made.generation += 1
    made._infos = [None] * made.capacity
    original._shared_rows = set(range(original.capacity))
    made._shared_rows = original._shared_rows.copy()


@finished_by(_detach_copy)
@copied_attributes(
    rows=shallow,
    names=shallow,
    nodes=shallow,
    pods_on=shallow,
    _infos=emptied,
    _classes=no_value,
)
class NodeTable:
    """Implements `framework.nodes_view.NodesView`, and its updates."""

    def __init__(self, namespace_labels: Callable[[str], Mapping[str, str]], capacity: int = _MIN_CAPACITY) -> None:
        self._namespace_labels = namespace_labels
        #: Incremented when arrays are replaced or tables dropped: kernels must be rebuilt.
        self.generation = 0
        self.namespaces_epoch = 0
        self.terms_epoch = 0
        #: Rows whose node or pods changed / whose node changed.
        self.log: ChangeLog[int] = ChangeLog()
        self.node_log: ChangeLog[int] = ChangeLog()
        #: Rows with a pod whose start time became known, which only preemption depends on.
        self.start_log: ChangeLog[int] = ChangeLog()
        #: Classes of rows with equal amounts; None until used.
        self._classes: RowClasses | None = None
        self._begin(capacity)

    def clear(self) -> None:
        """Remove all nodes and pods, whatever state the columns are in."""
        self.generation += 1
        self.terms_epoch += 1
        self._begin(self.capacity, self.tree.membership + 1)
        for row in range(self.capacity):
            self._touch_node(row)

    def _begin(self, capacity: int, membership: int = 0) -> None:
        #: Rows by node name; a row without node keeps its name while it has pods.
        self.rows: dict[str, int] = {}
        self.node_count = 0
        self.tree = NodeTree(membership)
        self.images = ImageTable()
        #: Label keys of pods that selectors in use refer to.
        self.label_keys = LabelKeysInUse()
        self.counts = PodCounts(self._namespace_labels, self.label_keys, _MAX_SPARE)
        #: Facts that few rows have: affinity pods, ports, users of claims.
        self.sparse = SparseFacts()
        #: Per row: name ("" for a free row), node, pods by uid, view.
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.pods_on: list[dict[str, PodInfo]] = []
        #: Rows whose dict of pods is shared with a fork; copied before it changes.
        self._shared_rows: set[int] = set()
        self._infos: list[RowNodeInfo | None] = []
        self._free: list[int] = []
        self.capacity = 0
        self._allocate(capacity)

    # -- reading: NodesView -----------------------------------------------------------------------

    def row_of(self, name: str) -> int | None:
        row = self.rows.get(name)
        return row if row is not None and self.nodes[row] is not None else None

    def node(self, row: int) -> Node:
        node = self.nodes[row]
        if node is None:
            raise LookupError(f"row {row} has no node")
        return node

    def info(self, row: int) -> RowNodeInfo:
        view = self._infos[row]
        if view is None:
            view = self._infos[row] = RowNodeInfo(self, row)
        return view

    def live_rows(self) -> Iterator[int]:
        return (row for row in self.rows.values() if self.nodes[row] is not None)

    def allocatable(self, resource: str) -> Column:
        return self.offered.column(resource)

    def requested(self, resource: str) -> Column:
        return self.amounts_requested.column(resource)

    def nonzero_requested(self, resource: str) -> Column:
        return self._nonzero[resource]

    def requirement(self, requirement: Requirement) -> BoolColumn:
        return self._labels.requirement(requirement)

    def label_values(self, key: str) -> tuple[NDArray[np.int32], Mapping[str, int]]:
        values = self._labels.values(key)
        return values.ids, values.known

    def row_classes(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Return a row of each class of rows with equal amounts of cpu, memory and pods, and the
        class of each row; None if there are few rows, or too many classes."""
        if self.capacity < row_classes.MIN_ROWS:
            return None
        if self._classes is None:
            amounts = [of(resource) for resource in (CPU, MEMORY) for of in (self.allocatable, self.requested)]
            columns = [*amounts, *self._nonzero.values(), self.pod_count, self.allowed_pods]
            self._classes = RowClasses(columns, self.log)
        return self._classes.current()

    def has_label(self, key: str) -> bool:
        """Return whether any node has the label."""
        return self._labels.has(key)

    def rows_with_image(self, name: str) -> Mapping[int, int]:
        return self.images.rows_with(name)

    @property
    def image_epoch(self) -> int:
        return self.images.epoch

    @property
    def rows_with_ports(self) -> Mapping[int, RowNodeInfo]:
        return {row: self.info(row) for row in self.sparse.used_ports}

    def topology(self, key: str) -> TopologyColumn:
        column = self._topologies.get(key)
        if column is None:
            column = TopologyColumn(key, self._nowhere)
            if self.has_label(key) or column.has_hostname_key:
                column.fill((row, labels.get(key)) for row, labels in self._current_labels())
            self._topologies.put(key, column)
        return column

    def matching(self, matcher: PodMatcher) -> MatchCountsTable:
        return self.counts.matching(matcher, self.capacity, self.alive)

    def matching_each(self, matchers: Sequence[PodMatcher]) -> list[MatchCountsTable]:
        return self.counts.matching_each(matchers, self.capacity, self.alive)

    def terms(self, kind: TermKind) -> TermsOfKind:
        return self._terms.of_kind(kind)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._namespace_labels(namespace)

    # -- writing ----------------------------------------------------------------------------------

    def reserve(self, nodes: int) -> None:
        """Reserve rows for this number of nodes, including existing ones. Growing step by step
        writes each several times."""
        if nodes > self.capacity:
            self._grow(max(nodes + nodes // _SPARE_SHARE + _MIN_CAPACITY, self._next_capacity))

    def layout(self) -> RowLayout:
        """Return which rows are in use, and in which order free rows are used next."""
        return RowLayout(tuple(self.rows.items()), tuple(self._free))

    def restore_layout(self, layout: RowLayout) -> None:
        """Give the same rows to the same names in an empty table. Raises `ValueError` for a layout
        that cannot be."""
        rows = [row for _, row in layout.rows]
        capacity = len(rows) + len(layout.free)
        if sorted((*rows, *layout.free)) != list(range(capacity)) or len({name for name, _ in layout.rows}) < len(rows):
            raise ValueError("the rows of nodes are not those of a table")
        self.generation += 1
        self._begin(capacity, self.tree.membership + 1)
        self._free = list(layout.free)
        for name, row in layout.rows:
            self.rows[name] = row
            self.names[row] = name

    def set_node(self, node: Node) -> None:
        """Add or replace a node. Raises InputError, before anything changes, for invalid
        amounts."""
        row = self.rows.get(node.metadata.name)
        old = None if row is None else self.nodes[row]
        if row is not None and old is not None and same_for_scheduling(old, node):
            self.nodes[row] = node
            return
        amounts = node_allocatable(node)
        if row is None:
            row = self._row_for(node.metadata.name)
        if old is None:
            self.tree.add(node.metadata.name, node.metadata.labels)
        else:
            self.tree.relabel(node.metadata.name, old.metadata.labels, node.metadata.labels)
        different = None
        if old is not None and old.spec == node.spec:
            different = different_keys(old.metadata.labels, node.metadata.labels)
        moves = different is None or len(different) > 0
        if moves:
            self._detach(row, different)
        self._write_node(row, old, node, amounts)
        if moves:
            self._attach(row, different)
        self._touch_node(row)

    def remove_node(self, name: str) -> None:
        """Remove the node; its pods stay until they are removed. Raises KeyError if there is
        none."""
        row = self.rows[name]
        if self.nodes[row] is None:
            raise KeyError(name)
        self._detach(row, None)
        labels = self.node(row).metadata.labels
        self.tree.remove(name, labels)
        self.nodes[row] = None
        self.node_count -= 1
        self.alive[row] = False
        self.images.set(row, None)
        self.offered.set(row, {})
        self._labels.set(row, labels, {})
        for key in {HOSTNAME_LABEL, *labels}:
            topology = self._topologies.peek(key)
            if topology is not None:
                topology.clear(row)
        self._attach(row, None)
        self._touch_node(row)
        self._release_if_empty(row)

    def add_pod(self, pod: PodInfo, node_name: str) -> None:
        row = self.rows.get(node_name)
        if row is None:
            row = self._row_for(node_name)
        if row in self._shared_rows:
            self._own_row(row)
        self.pods_on[row][pod.uid] = pod
        self._apply_pod(pod, row, 1)

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """Remove a pod. Raises KeyError if no pod with this uid is on the node."""
        row = self.rows[node_name]
        if row in self._shared_rows:
            self._own_row(row)
        self._apply_pod(self.pods_on[row].pop(pod.uid), row, -1)
        if self.nodes[row] is None:
            self._release_if_empty(row)

    def relabel_pod(self, old: PodInfo, new: PodInfo, node_name: str) -> None:
        """Update a pod whose labels or termination state changed, with the same requests. Raises
        KeyError if it is not on the node."""
        row = self.rows[node_name]
        if row in self._shared_rows:
            self._own_row(row)
        pods = self.pods_on[row]
        self.counts.add(pods.pop(old.uid), row, -1)
        pods[new.uid] = new
        self.counts.add(new, row, 1)
        if new.shape.has_affinity:
            self.sparse.count_affinity(old, row, -1)
            self.sparse.count_affinity(new, row, 1)
        self.log.append(row)

    def replace_info(self, pod: PodInfo, node_name: str) -> None:
        """Replace the info of a pod by another of the same version, because the old one may be
        shared with a fork."""
        row = self.rows[node_name]
        if row in self._shared_rows:
            self._own_row(row)
        self.pods_on[row][pod.uid] = pod
        if pod.shape.has_affinity:
            self.sparse.affinity_pods[row][pod.uid] = pod
        self.log.append(row)

    def order_pods(self, node_name: str, uids: Iterable[str]) -> None:
        """Order the pods of the node like these uids; other pods come last."""
        row = self.rows[node_name]
        here = self.pods_on[row]
        self.pods_on[row] = {uid: here[uid] for uid in uids if uid in here} | here

    def _own_row(self, row: int) -> None:
        self._shared_rows.remove(row)
        self.pods_on[row] = self.pods_on[row].copy()

    def touch(self, node_name: str) -> None:
        """Log a change of a pod that is not in any column, but that a plugin may depend on."""
        self.log.append(self.rows[node_name])

    def touch_start(self, node_name: str) -> None:
        """Log a change of the start time of a pod."""
        self.start_log.append(self.rows[node_name])

    def on_namespaces_changed(self) -> None:
        """Drop count tables after namespace labels changed, since namespace selectors may match
        differently."""
        self.namespaces_epoch += 1
        self.drop_tables()

    def drop_tables(self) -> None:
        """Drop all count tables; they are rebuilt on demand."""
        self.generation += 1
        self.counts.reset(self._spare)

    def cache_sizes(self) -> dict[str, int]:
        """Return the number of entries of caches keyed by user input."""
        return {
            "label keys": len(self.label_keys),
            "label classes": len(self.counts.classes),
            "count tables": len(self.counts.tables()),
            "affinity terms": len(self._terms),
            "topologies": len(self._topologies),
            "label columns": len(self._labels),
            "resource columns": len(self.offered.columns()) + len(self.amounts_requested.columns()),
            "requested resources": len(self.amounts_requested.others),
            "taint sets": len(self.taints.sets),
            "images": len(self.images),
        }

    # -- pods -------------------------------------------------------------------------------------

    def _apply_pod(self, pod: PodInfo, row: int, sign: int) -> None:
        shape = pod.shape
        self.deltas.apply(shape, row, sign)
        self.counts.add(pod, row, sign)
        if shape.has_affinity:
            self._apply_affinity(pod, row, sign)
        if shape.host_ports:
            self.sparse.count_ports(shape.host_ports, row, sign)
        if pod.claims:
            self.sparse.count_claims(pod.claims, row, sign)
        self.log.append(row)

    def _apply_affinity(self, pod: PodInfo, row: int, sign: int) -> None:
        self.sparse.count_affinity(pod, row, sign)
        self.terms_epoch += 1
        (self._terms.add_pod if sign > 0 else self._terms.remove_pod)(pod.shape, row)

    # -- nodes ------------------------------------------------------------------------------------

    def _write_node(self, row: int, old: Node | None, node: Node, amounts: Mapping[str, int]) -> None:
        self.nodes[row] = node
        self.alive[row] = True
        self.node_count += old is None
        self.offered.set(row, amounts)
        self.allowed_pods.cell[row] = amounts.get("pods", 0)
        self.unschedulable[row] = node.spec.unschedulable
        self._write_taints(row, node)
        before = old.metadata.labels if old is not None else {}
        labels = node.metadata.labels
        self._labels.set(row, before, labels)
        for key in {HOSTNAME_LABEL, *before, *labels}:
            topology = self._topologies.peek(key)
            if topology is not None:
                topology.set(row, labels.get(key))
        if old is None or old.status.images != node.status.images:
            self.images.set(row, node)

    def _write_taints(self, row: int, node: Node) -> None:
        self.taints.set(row, node.spec.taints)
        if self.taints.is_full:
            self.taints.reset()
            self.drop_tables()

    def _detach(self, row: int, label_keys: Collection[str] | None) -> None:
        self.counts.detach(row, label_keys)
        self._move_terms(row, -1)

    def _attach(self, row: int, label_keys: Collection[str] | None) -> None:
        self.counts.attach(row, label_keys)
        self._move_terms(row, 1)

    def _move_terms(self, row: int, sign: int) -> None:
        for pod in self.sparse.affinity_pods.get(row, {}).values():
            self.terms_epoch += 1
            self._terms.move(pod.shape, row, sign)

    def _touch_node(self, row: int) -> None:
        self.node_log.append(row)
        self.log.append(row)

    # -- rows -------------------------------------------------------------------------------------

    def _row_for(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            if not self._free:
                self._grow(self._next_capacity)
            row = self.rows[name] = self._free.pop()
            self.names[row] = name
        return row

    @property
    def _next_capacity(self) -> int:
        return self.capacity + self.capacity // 4 + _MIN_CAPACITY

    def _release_if_empty(self, row: int) -> None:
        if not self.pods_on[row]:
            del self.rows[self.names[row]]
            self.names[row] = ""
            self._free.append(row)

    def _allocate(self, capacity: int) -> None:
        """Allocate every array for `capacity` rows; `_grow` writes their content."""
        added = range(self.capacity, capacity)
        self.capacity = capacity
        self.names += ["" for _ in added]
        self.nodes += [None for _ in added]
        self.pods_on += [{} for _ in added]
        self._infos += [None for _ in added]
        # Lower rows are used first, whether rows were reserved or not.
        self._free[:0] = reversed(added)
        #: bool[capacity]: the row has a node.
        self.alive: BoolColumn = np.zeros(capacity, np.bool_)
        #: bool[capacity]: the node is cordoned.
        self.unschedulable: BoolColumn = np.zeros(capacity, np.bool_)
        #: int64[capacity]: pods on the row including assumed ones; maximum number of pods of the
        #: node.
        self.pod_count = zeros(capacity)
        self.allowed_pods = zeros(capacity)
        self.offered = OfferedAmounts(capacity)
        self.amounts_requested = RequestedAmounts(capacity)
        self._nonzero = {"cpu": zeros(capacity), "memory": zeros(capacity)}
        self._classes = None
        self.deltas = ResourceDeltas(self.amounts_requested, self._nonzero, self.pod_count)
        self.taints = TaintColumn(capacity)
        self._spare = min(max(_SPARE_ROWS // capacity, _MIN_SPARE), _MAX_SPARE)
        self._labels = LabelColumns(capacity, self._current_labels, self._spare)
        #: Shared by topologies whose label no node has.
        self._nowhere = np.zeros(capacity, np.intp)
        self._topologies: WeakValueCache[str, TopologyColumn] = WeakValueCache(_SPARE_TOPOLOGIES)
        self._terms = TermTables(self.topology, self.label_keys)
        self.counts.reset(self._spare)

    def _grow(self, capacity: int) -> None:
        """Add rows: every array is replaced and filled again; rows keep their numbers."""
        self.drop_tables()
        self.label_keys.clear()
        offered = self.offered.by_row
        self._allocate(capacity)
        self.node_count = 0
        for row in self.rows.values():
            node = self.nodes[row]
            if node is not None:
                self._write_node(row, None, node, offered[row])
            for pod in self.pods_on[row].values():
                self.deltas.apply(pod.shape, row, 1)
            for pod in self.sparse.affinity_pods.get(row, {}).values():
                self._terms.add_pod(pod.shape, row)

    def _current_labels(self) -> Iterable[tuple[int, Mapping[str, str]]]:
        nodes = self.nodes
        return ((row, node.metadata.labels) for row in self.rows.values() if (node := nodes[row]) is not None)
