# SPDX-License-Identifier: Apache-2.0
"""The node columns: one row per node, and everything that is counted per row.

Written by the cache (`state.cache`) on node and pod events and on assume; read by kernels through the protocol
`framework.nodes_view.NodesView`, and row by row as `NodeInfo`. A row may hold pods without a node (a pod was seen before its
node, or the node went first); such a row is not alive and nothing is scheduled there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from steersman.api import Node
from steersman.api.selectors import Requirement
from steersman.bounded_table import SharedTable
from steersman.change_log import ChangeLog
from steersman.framework.nodes_view import BoolColumn, Column, PodMatcher, TermKind
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_resources import node_allocatable
from steersman.graph_copy import copied_attributes, emptied, finished_by, shallow
from steersman.kept import Kept
from steersman.state.charges import Charges
from steersman.state.domain_counts import MatchCountsTable
from steersman.state.images import ImageTable
from steersman.state.label_columns import LabelColumns, TaintColumn, different_keys
from steersman.state.label_keys import LabelKeysInUse
from steersman.state.node_differences import same_for_scheduling
from steersman.state.node_tree import NodeTree
from steersman.state.pod_counts import PodCounts
from steersman.state.resource_columns import OfferedAmounts, RequestedAmounts, zeros
from steersman.state.row_info import RowNodeInfo
from steersman.state.sparse_facts import SparseFacts
from steersman.state.term_tables import TermsOfKind, TermTables
from steersman.state.topology import HOSTNAME_KEY, TopologyColumn

_SMALLEST_CAPACITY = 32
#: Rows that stay free when room is made for a list: nodes may join.
_SPARE_SHARE = 16
#: Columns and count tables that no kernel reads stay as long as they are few: in rows, and in numbers at least and at most.
_SPARE_ROWS = 1 << 18
_LEAST_SPARE, _MOST_SPARE = 16, 256
_SPARE_TOPOLOGIES = 8

TOPOLOGIES = Kept(
    name="topologies",
    attributes=("NodeTable._topologies",),
    holds="the topology domain of each row",
    key="topology key",
    stamps="never: written with every change of the facts",
    bound="those that somebody reads, and a few spare ones (`SharedTable`)",
    twin="the label of each node",
)


NODES_BY_ZONE = Kept(
    name="nodes by zone",
    attributes=("NodeTable.tree",),
    holds="the nodes' names in upstream's order",
    key="region and zone",
    stamps="never: written with every change of the facts",
    bound="the nodes",
    twin="the labels of each node",
)


def _start_afresh(original: NodeTable, made: NodeTable) -> None:
    """Whoever keeps columns of the original asks the copy for its own."""
    made.generation += 1
    made._infos = [None] * made.capacity
    original._shared_rows = set(range(original.capacity))
    made._shared_rows = original._shared_rows.copy()


@finished_by(_start_afresh)
@copied_attributes(
    rows=shallow,
    names=shallow,
    nodes=shallow,
    pods_on=shallow,
    _infos=emptied,
)
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
        self.log: ChangeLog[int] = ChangeLog()
        self.node_log: ChangeLog[int] = ChangeLog()
        #: Rows where a pod's start became known: no filter or score looks at it, but preemption does.
        self.start_log: ChangeLog[int] = ChangeLog()
        self._begin(capacity)

    def clear(self) -> None:
        """Takes out all nodes and pods, whatever state the columns are in."""
        self.generation += 1
        self.terms_epoch += 1
        self._begin(self.capacity, self.tree.membership + 1)
        for row in range(self.capacity):
            self._touch_node(row)

    def _begin(self, capacity: int, membership: int = 0) -> None:
        #: Rows by node name; a row without node keeps its name while pods are there.
        self.rows: dict[str, int] = {}
        self.node_count = 0
        self.tree = NodeTree(membership)
        self.images = ImageTable()
        #: Pod label keys that decide anything at the moment.
        self.label_keys = LabelKeysInUse()
        self.counts = PodCounts(self._namespace_labels, self.label_keys, _MOST_SPARE)
        #: What most rows have nothing of: affinity pods, ports, users of claims.
        self.sparse = SparseFacts()
        #: Per row: name ("" for a free row), node, pods by uid, view.
        self.names: list[str] = []
        self.nodes: list[Node | None] = []
        self.pods_on: list[dict[str, PodInfo]] = []
        #: Rows whose pods are in a dict that a fork of the simulation has too: it is replaced before it changes.
        self._shared_rows: set[int] = set()
        self._infos: list[RowNodeInfo | None] = []
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
            if self._labels.has(key) or column.is_of_hosts:
                for row in self.live_rows():
                    column.set(row, self.node(row).metadata.labels.get(key))
            self._topologies.put(key, column)
        return column

    def matching(self, matcher: PodMatcher) -> MatchCountsTable:
        return self.counts.matching(matcher, self.capacity, self.alive)

    def terms(self, kind: TermKind) -> TermsOfKind:
        return self._terms.of_kind(kind)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self._namespace_labels(namespace)

    # -- writing -----------------------------------------------------------------------------------------------------

    def reserve(self, nodes: int) -> None:
        """Makes room for so many nodes, those that are here included. Growing step by step writes each several times."""
        if nodes > self.capacity:
            self._grow(nodes + nodes // _SPARE_SHARE + _SMALLEST_CAPACITY)

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
        """Removes the node; its pods stay until they are removed themselves. KeyError when there is none."""
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
        for key in {HOSTNAME_KEY, *labels}:
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
        self._charge(pod, row, 1)

    def remove_pod(self, pod: PodInfo, node_name: str) -> None:
        """KeyError when no pod with that uid is on the node."""
        row = self.rows[node_name]
        if row in self._shared_rows:
            self._own_row(row)
        self._charge(self.pods_on[row].pop(pod.uid), row, -1)
        if self.nodes[row] is None:
            self._release_if_empty(row)

    def relabel_pod(self, old: PodInfo, new: PodInfo, node_name: str) -> None:
        """The pod with other labels, or terminating: what it asks for is the same. KeyError when it is not on the node."""
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

    @contextmanager
    def without(self, pod: PodInfo, node_name: str) -> Iterator[None]:
        """The columns as if the pod were not on its node, which is alive, within the block. Afterwards everything is as before,
        also the order of the node's pods and what is known of their ports; whatever follows the log looks at the row again."""
        row = self.rows[node_name]
        pods = dict(self.pods_on[row])
        restore_sparse = self.sparse.restorer(row)
        self.remove_pod(pod, node_name)
        try:
            yield
        finally:
            self.add_pod(pods[pod.uid], node_name)
            self.pods_on[row] = pods
            restore_sparse()

    def replace_info(self, pod: PodInfo, node_name: str) -> None:
        """Takes another info of the same version of a pod that is there: the former one may be shared with a fork."""
        row = self.rows[node_name]
        if row in self._shared_rows:
            self._own_row(row)
        self.pods_on[row][pod.uid] = pod
        if pod.shape.has_affinity:
            self.sparse.affinity_pods[row][pod.uid] = pod
        self.log.append(row)

    def _own_row(self, row: int) -> None:
        self._shared_rows.remove(row)
        self.pods_on[row] = self.pods_on[row].copy()

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
        self.counts.reset(self._spare)

    def kept(self) -> dict[str, int]:
        """Number of entries of what users' words are kept in, by table."""
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

    # -- a pod comes or goes -----------------------------------------------------------------------------------------

    def _charge(self, pod: PodInfo, row: int, sign: int) -> None:
        shape = pod.shape
        self.charges.charge(shape, row, sign)
        self.counts.add(pod, row, sign)
        if shape.has_affinity:
            self._charge_affinity(pod, row, sign)
        if shape.host_ports:
            self.sparse.count_ports(shape.host_ports, row, sign)
        if pod.claims:
            self.sparse.count_claims(pod.claims, row, sign)
        self.log.append(row)

    def _charge_affinity(self, pod: PodInfo, row: int, sign: int) -> None:
        self.sparse.count_affinity(pod, row, sign)
        self.terms_epoch += 1
        (self._terms.add_pod if sign > 0 else self._terms.remove_pod)(pod.shape, row)

    # -- a node comes, changes or goes -------------------------------------------------------------------------------

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
        for key in {HOSTNAME_KEY, *before, *labels}:
            topology = self._topologies.peek(key)
            if topology is not None:
                topology.set(row, labels.get(key))
        if old is None or old.status.images != node.status.images:
            self.images.set(row, node)

    def _write_taints(self, row: int, node: Node) -> None:
        self.taints.set(row, node.spec.taints)
        if self.taints.is_crowded:
            self.taints.start_afresh()
            self.forget_tables()

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

    # -- rows --------------------------------------------------------------------------------------------------------

    def _row_for(self, name: str) -> int:
        row = self.rows.get(name)
        if row is None:
            if not self._free:
                self._grow(self.capacity + self.capacity // 4 + _SMALLEST_CAPACITY)
            row = self.rows[name] = self._free.pop()
            self.names[row] = name
        return row

    def _release_if_empty(self, row: int) -> None:
        if not self.pods_on[row]:
            del self.rows[self.names[row]]
            self.names[row] = ""
            self._free.append(row)

    def _allocate(self, capacity: int) -> None:
        """Makes every array for `capacity` rows; what was in them is written again by `_grow`."""
        added = range(self.capacity, capacity)
        self.capacity = capacity
        self.names += ["" for _ in added]
        self.nodes += [None for _ in added]
        self.pods_on += [{} for _ in added]
        self._infos += [None for _ in added]
        self._free += reversed(added)
        #: bool[capacity]: the row has a node.
        self.alive: BoolColumn = np.zeros(capacity, np.bool_)
        #: bool[capacity]: the node is cordoned.
        self.unschedulable: BoolColumn = np.zeros(capacity, np.bool_)
        #: int64[capacity]: pods on the row, assumed ones included; pods that the node takes at most.
        self.pod_count = zeros(capacity)
        self.allowed_pods = zeros(capacity)
        self.offered = OfferedAmounts(capacity)
        self.amounts_requested = RequestedAmounts(capacity)
        self._nonzero = {"cpu": zeros(capacity), "memory": zeros(capacity)}
        self.charges = Charges(self.amounts_requested, self._nonzero, self.pod_count)
        self.taints = TaintColumn(capacity)
        self._spare = min(max(_SPARE_ROWS // capacity, _LEAST_SPARE), _MOST_SPARE)
        self._labels = LabelColumns(capacity, self._current_labels, self._spare)
        #: What topologies that no node has a label of share.
        self._nowhere = np.zeros(capacity, np.intp)
        self._topologies: SharedTable[str, TopologyColumn] = SharedTable(_SPARE_TOPOLOGIES)
        self._terms = TermTables(self.topology, self.label_keys)
        self.counts.reset(self._spare)

    def _grow(self, capacity: int) -> None:
        """More rows: every array is replaced and filled again; rows keep their numbers."""
        self.forget_tables()
        self.label_keys.clear()
        offered = self.offered.by_row
        self._allocate(capacity)
        self.node_count = 0
        for row in self.rows.values():
            node = self.nodes[row]
            if node is not None:
                self._write_node(row, None, node, offered[row])
            for pod in self.pods_on[row].values():
                self.charges.charge(pod.shape, row, 1)
            for pod in self.sparse.affinity_pods.get(row, {}).values():
                self._terms.add_pod(pod.shape, row)

    def _current_labels(self) -> Iterable[tuple[int, Mapping[str, str]]]:
        return ((row, self.node(row).metadata.labels) for row in self.live_rows())
