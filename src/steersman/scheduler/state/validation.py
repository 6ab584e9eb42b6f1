# SPDX-License-Identifier: Apache-2.0
"""Recomputes everything in the columns from nodes and pods, and reports the first difference.

The slow reference for every write in this package: nothing here is incremental.
`Cache.validate_state()` calls it; tests do so after every step. Each function names the
declarations (`steersman.base.cache_spec`) whose reference it computes. It reads private attributes
of the other modules, because it must know all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steersman.api import Taint
from steersman.base import ChangeLog, ReferenceChecks
from steersman.framework import POD_SHAPES, Column, HostPort, PodInfo, node_allocatable
from steersman.scheduler.state.count_validation import COUNT_CHECKS, shares_memory
from steersman.scheduler.state.group_hierarchy import GROUP_ROOTS, group_of_pod
from steersman.scheduler.state.images import IMAGES
from steersman.scheduler.state.invariants import describe_pods, describe_row, expect, live_rows, pods_on_rows
from steersman.scheduler.state.label_columns import LABEL_VALUES, REQUIREMENT_COLUMNS, TAINT_SETS
from steersman.scheduler.state.node_table import NODES_BY_ZONE, NodeTable
from steersman.scheduler.state.node_tree import zone_of
from steersman.scheduler.state.pod_lifecycle import CachedPodState
from steersman.scheduler.state.resource_columns import OFFERED_COLUMNS, REQUESTED_COLUMNS
from steersman.scheduler.state.resource_deltas import DELTAS_BY_SHAPE
from steersman.scheduler.state.sparse_facts import SPARSE_FACTS

if TYPE_CHECKING:
    from steersman.scheduler.state.cache import Cache


#: Checks of the caches of `Cache`, and of its columns.
CACHE_CHECKS: ReferenceChecks[Cache] = ReferenceChecks()
TABLE_CHECKS: ReferenceChecks[NodeTable] = ReferenceChecks()


def validate(cache: Cache) -> None:
    """Raise StateInvariantError for the first difference."""
    _validate_records(cache)
    CACHE_CHECKS.run(cache)
    validate_table(cache.nodes)


def validate_table(table: NodeTable) -> None:
    """Raise StateInvariantError for the first difference between the columns and the nodes and pods
    on the rows."""
    _validate_rows(table)
    for log in (table.log, table.node_log, table.start_log):
        _validate_log(log)
    TABLE_CHECKS.run(table)
    COUNT_CHECKS.run(table)


# -- records and rows -----------------------------------------------------------------------------


def _validate_records(cache: Cache) -> None:
    table = cache.nodes
    for uid, record in cache._records.items():
        place = f"pod {record.info.key}"
        expect(place, "uid", record.info.uid, uid)
        row = table.rows.get(record.node_name)
        here = None if row is None else table.pods_on[row].get(uid)
        expect(
            place, f"pod on the row of node {record.node_name}", here, record.info, f"history: {record.life.history}"
        )
        expect(place, "gone", record.state is CachedPodState.ABSENT, False, f"history: {record.life.history}")
    assumed = {uid for uid, record in cache._records.items() if record.life.is_assumed}
    expect("cache", "number of assumed pods", cache.assumed_count, len(assumed), "by their records")
    on_rows = sum(map(len, table.pods_on))
    expect("cache", "number of pods on rows", on_rows, cache.pod_count, "number of records")


@CACHE_CHECKS.register(POD_SHAPES)
def _validate_infos(cache: Cache) -> None:
    """Compare the infos of pods with their API objects."""
    for record in cache.pods():
        info, fresh = record.info, cache.shapes.info(record.info.pod)
        for part in _PARTS_OF_A_POD:
            expect(f"pod {info.key}", part, getattr(info, part), getattr(fresh, part), "by the API object")
        expect(f"pod {info.key}", "shape of the API object", info.shape is fresh.shape, True)


_PARTS_OF_A_POD = (
    "uid",
    "key",
    "labels",
    "priority",
    "node_name",
    "is_terminating",
    "nominated_node",
    "scheduler_name",
)


def _validate_rows(table: NodeTable) -> None:
    for name, per_row in (("names", table.names), ("nodes", table.nodes), ("pods", table.pods_on)):
        expect("table", f"number of rows with {name}", len(per_row), table.capacity)
    named = {row: name for row, name in enumerate(table.names) if name}
    expect("table", "rows by name", {row: name for name, row in table.rows.items()}, named)
    expect("table", "free rows", sorted(table._free), [r for r in range(table.capacity) if r not in named])
    expect("table", "number of nodes", table.node_count, sum(node is not None for node in table.nodes))
    for row, node in enumerate(table.nodes):
        place, pods = describe_row(table, row), table.pods_on[row]
        expect(place, "alive", bool(table.alive[row]), node is not None)
        expect(place, "in use", row in named, node is not None or bool(pods))
        expect(place, "uids", [pod.uid for pod in pods.values()], list(pods))
        if node is not None:
            expect(place, "name of the node", node.metadata.name, table.names[row])


@TABLE_CHECKS.register(NODES_BY_ZONE)
def _validate_tree(table: NodeTable) -> None:
    """Compare the nodes in each zone; the order is known to the tree only."""
    expected: dict[tuple[str, str], set[str]] = {}
    for row, node in live_rows(table):
        expected.setdefault(zone_of(node.metadata.labels), set()).add(table.names[row])
    expect("table", "nodes by zone", {zone: set(names) for zone, names in table.tree.zones.items()}, expected)


@CACHE_CHECKS.register(GROUP_ROOTS)
def _validate_groups(cache: Cache) -> None:
    """Compare the hierarchy of groups with the objects, and the members on nodes with the
    records."""
    groups = cache.pod_groups
    if groups is None:
        return
    expect("pod groups", "inconsistent", list(groups.hierarchy.problems()), [])
    found: Counter[tuple[str, str]] = Counter()
    for key, members in groups.members():
        expect(f"group {key}", "without members", members.count, members.count or 1)
        found.update((uid, "assigned") for uid in members.assigned)
        found.update((uid, record.node_name) for uid in members.assumed if (record := cache.get(uid)))
        overlap = members.unscheduled.keys() & (members.assumed.keys() | members.assigned.keys())
        expect(f"group {key}", "members in two states", set(overlap), set())
    records = [record for record in cache.pods() if group_of_pod(record.info.pod) is not None]
    expected = Counter((r.info.uid, r.node_name if r.life.is_assumed else "assigned") for r in records)
    expect("pod groups", "members on nodes", found, expected)


# -- columns --------------------------------------------------------------------------------------


@TABLE_CHECKS.register(DELTAS_BY_SHAPE, REQUESTED_COLUMNS)
def _validate_amounts(table: NodeTable) -> None:
    """Compare the sums over pods on every row."""
    for row, pods in enumerate(table.pods_on):
        shapes = [pod.shape for pod in pods.values()]
        requested: Counter[str] = Counter()
        for shape in shapes:
            requested.update(shape.requests)
        columns = table.amounts_requested.columns()
        for resource in requested.keys() | columns.keys() | table.amounts_requested.others.keys():
            known = table.amounts_requested.amount(resource, row)
            found = columns[resource].cell[row] if resource in columns else known
            _expect_pod_sum(table, row, f"requested {resource}", found, requested[resource])
            _expect_pod_sum(table, row, f"requested {resource} beside its column", known, requested[resource])
        nonzero = table._nonzero
        cpu, memory = sum(s.nonzero_cpu for s in shapes), sum(s.nonzero_memory for s in shapes)
        _expect_pod_sum(table, row, "nonzero requested cpu", nonzero["cpu"].cell[row], cpu)
        _expect_pod_sum(table, row, "nonzero requested memory", nonzero["memory"].cell[row], memory)
        _expect_pod_sum(table, row, "number of pods", table.pod_count.cell[row], len(pods))
    empty = [name for name, rows in table.amounts_requested.others.items() if not rows or not all(rows.values())]
    expect("table", "resources that no pod requests", empty, [])
    for name, column in _all_columns(table):
        shared = shares_memory(column.cell, column.values) and len(column.values) == table.capacity
        expect(f"column {name}", "shares memory with its view, of the table's length", shared, True)


def _expect_pod_sum(table: NodeTable, row: int, what: str, found: int, expected: int) -> None:
    if found != expected:
        expect(describe_row(table, row), what, found, expected, describe_pods(table, row))


def _all_columns(table: NodeTable) -> Iterator[tuple[str, Column]]:
    yield from table.amounts_requested.columns().items()
    yield from table.offered.columns().items()
    yield from table._nonzero.items()
    yield from (("pod count", table.pod_count), ("allowed pods", table.allowed_pods))


@TABLE_CHECKS.register(TAINT_SETS)
def _validate_nodes(table: NodeTable) -> None:
    """Compare the columns computed from Node objects."""
    for row, node in live_rows(table):
        place, offered = describe_row(table, row), node_allocatable(node)
        expect(place, "amounts offered", table.offered.by_row[row], offered)
        expect(place, "allowed pods", table.allowed_pods.cell[row], offered.get("pods", 0))
        for resource, column in table.offered.columns().items():
            expect(place, f"allocatable {resource}", column.cell[row], offered.get(resource, 0))
        expect(place, "unschedulable", bool(table.unschedulable[row]), node.spec.unschedulable)
        timeless = tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints)
        expect(place, "taints", table.taints.sets[table.taints.ids[row]], timeless)


@TABLE_CHECKS.register(LABEL_VALUES, REQUIREMENT_COLUMNS, OFFERED_COLUMNS)
def _validate_labels(table: NodeTable) -> None:
    labels = table._labels
    for row, node in live_rows(table):
        place, own = describe_row(table, row), node.metadata.labels
        for key, values in labels._values.items():
            expected = values.known.get(own[key]) if key in own else -1
            expect(place, f"value id of label {key}", int(values.ids[row]), expected)
        for requirement, met in labels._met.items():
            expect(place, f"requirement {requirement}", bool(met[row]), requirement.matches(own))

    offered = Counter(key for _, node in live_rows(table) for key in node_allocatable(node))
    expect("table", "number of nodes by offered resource", table.offered._nodes_with, offered)
    labelled = Counter(key for _, node in live_rows(table) for key in node.metadata.labels)
    expect("table", "number of nodes by label", labels._nodes_with, labelled)


@TABLE_CHECKS.register(IMAGES)
def _validate_images(table: NodeTable) -> None:
    listed: dict[str, set[int]] = {}
    for row, node in live_rows(table):
        for image in node.status.images:
            for name in image.names:
                listed.setdefault(name, set()).add(row)
    known = table.images._rows
    expect("images", "rows by name", {name: set(rows) for name, rows in known.items()}, listed)
    for row in range(table.capacity):
        states = {name: (state.size, state.num_nodes) for name, state in table.images.states_of(row).items()}
        expected = {name: (known[name][row], len(rows)) for name, rows in listed.items() if row in rows}
        expect(describe_row(table, row), "images (size, number of nodes)", states, expected)


@TABLE_CHECKS.register(SPARSE_FACTS)
def _validate_sparse(table: NodeTable) -> None:
    """Compare the sparse facts; a row without them has no entry."""
    ports: dict[int, set[HostPort]] = {}
    claims: dict[int, Counter[str]] = {}
    affine: dict[int, dict[str, PodInfo]] = {}
    for row, pod in pods_on_rows(table):
        if pod.shape.host_ports:
            ports.setdefault(row, set()).update(pod.shape.host_ports)
        if pod.claims:
            claims.setdefault(row, Counter()).update(pod.claims)
        if pod.shape.has_affinity:
            affine.setdefault(row, {})[pod.uid] = pod
    # A port of two pods is free once one of them is removed: used ports may be fewer than held
    # ones.
    for row, used in table.sparse.used_ports.items():
        expect(describe_row(table, row), "used ports that no pod holds", used - ports.get(row, set()), set())
    expect(
        "table",
        "rows with an empty set of used ports",
        [r for r, used in table.sparse.used_ports.items() if not used],
        [],
    )
    expect("table", "claim users by row", table.sparse.claim_users, claims)
    expect("table", "pods with affinity by row", table.sparse.affinity_pods, affine)


def _validate_log(log: ChangeLog[int]) -> None:
    expect("log of changed rows", "end", log.end, log.base + len(log.entries))
