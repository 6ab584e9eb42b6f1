# SPDX-License-Identifier: Apache-2.0
"""Recomputes from the nodes and pods everything that the columns hold, and tells the first difference as a story.

The slow twin of every write in this package: nothing here is incremental. `Cache.validate_state()` calls it; tests do so
after every step. Each function names the declarations (`steersman.kept`) whose twin it computes. It reads the private parts of
its neighbours, because it is the one place that has to know all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steersman.api import Taint
from steersman.change_log import ChangeLog
from steersman.framework.nodes_view import Column
from steersman.framework.pod_info import POD_SHAPES, HostPort, PodInfo
from steersman.framework.pod_resources import node_allocatable
from steersman.kept import TwinChecks
from steersman.state.charges import CHARGES_BY_SHAPE
from steersman.state.count_validation import COUNT_CHECKS, is_twin
from steersman.state.images import IMAGES
from steersman.state.invariants import expect, live_rows, place_of, pods_on_rows, pods_story
from steersman.state.label_columns import LABEL_VALUES, REQUIREMENT_COLUMNS, TAINT_SETS
from steersman.state.node_table import NODES_BY_ZONE, NodeTable
from steersman.state.node_tree import zone_of
from steersman.state.pod_lifecycle import CachedPodState
from steersman.state.resource_columns import OFFERED_COLUMNS, REQUESTED_COLUMNS
from steersman.state.sparse_facts import SPARSE_FACTS

if TYPE_CHECKING:
    from steersman.state.cache import Cache


#: What the cache keeps, and what its columns keep, compared with their twins.
CACHE_CHECKS: TwinChecks[Cache] = TwinChecks()
TABLE_CHECKS: TwinChecks[NodeTable] = TwinChecks()


def validate(cache: Cache) -> None:
    """StateInvariantError at the first difference."""
    _validate_records(cache)
    CACHE_CHECKS.run(cache)
    validate_table(cache.nodes)


def validate_table(table: NodeTable) -> None:
    """StateInvariantError at the first difference between the columns and the nodes and pods on the rows."""
    _validate_rows(table)
    for log in (table.log, table.node_log, table.start_log):
        _validate_log(log)
    TABLE_CHECKS.run(table)
    COUNT_CHECKS.run(table)


# -- records and rows ----------------------------------------------------------------------------------------------------


def _validate_records(cache: Cache) -> None:
    table = cache.nodes
    for uid, record in cache._records.items():
        place = f"pod {record.info.key}"
        expect(place, "uid", record.info.uid, uid)
        row = table.rows.get(record.node_name)
        here = None if row is None else table.pods_on[row].get(uid)
        expect(place, f"pod on the row of node {record.node_name}", here, record.info, f"story: {record.life.story}")
        expect(place, "gone", record.state is CachedPodState.ABSENT, False, f"story: {record.life.story}")
    assumed = {uid for uid, record in cache._records.items() if record.life.is_assumed}
    expect("cache", "number of assumed pods", cache.assumed_count, len(assumed), "by their records")
    on_rows = sum(map(len, table.pods_on))
    expect("cache", "number of pods on rows", on_rows, cache.pod_count, "number of records")


@CACHE_CHECKS.of(POD_SHAPES)
def _validate_infos(cache: Cache) -> None:
    """The records of pods must be what follows from their API objects."""
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
        place, pods = place_of(table, row), table.pods_on[row]
        expect(place, "alive", bool(table.alive[row]), node is not None)
        expect(place, "in use", row in named, node is not None or bool(pods))
        expect(place, "uids", [pod.uid for pod in pods.values()], list(pods))
        if node is not None:
            expect(place, "name of the node", node.metadata.name, table.names[row])


@TABLE_CHECKS.of(NODES_BY_ZONE)
def _validate_tree(table: NodeTable) -> None:
    """Every node is in its zone, once; when it came there, only the tree knows."""
    expected: dict[tuple[str, str], set[str]] = {}
    for row, node in live_rows(table):
        expected.setdefault(zone_of(node.metadata.labels), set()).add(table.names[row])
    expect("table", "nodes by zone", {zone: set(names) for zone, names in table.tree.zones.items()}, expected)


# -- columns -------------------------------------------------------------------------------------------------------------


@TABLE_CHECKS.of(CHARGES_BY_SHAPE, REQUESTED_COLUMNS)
def _validate_amounts(table: NodeTable) -> None:
    """The sums of pods on every row: without pods, zero."""
    for row, pods in enumerate(table.pods_on):
        shapes = [pod.shape for pod in pods.values()]
        requested: Counter[str] = Counter()
        for shape in shapes:
            requested.update(shape.requests)
        columns = table.amounts_requested.columns()
        for resource in requested.keys() | columns.keys() | table.amounts_requested.others.keys():
            known = table.amounts_requested.amount(resource, row)
            found = columns[resource].cell[row] if resource in columns else known
            _expect_of_pods(table, row, f"requested {resource}", found, requested[resource])
            _expect_of_pods(table, row, f"requested {resource} beside its column", known, requested[resource])
        nonzero = table._nonzero
        cpu, memory = sum(s.nonzero_cpu for s in shapes), sum(s.nonzero_memory for s in shapes)
        _expect_of_pods(table, row, "nonzero requested cpu", nonzero["cpu"].cell[row], cpu)
        _expect_of_pods(table, row, "nonzero requested memory", nonzero["memory"].cell[row], memory)
        _expect_of_pods(table, row, "number of pods", table.pod_count.cell[row], len(pods))
    empty = [name for name, rows in table.amounts_requested.others.items() if not rows or not all(rows.values())]
    expect("table", "resources that no pod requests", empty, [])
    for name, column in _all_columns(table):
        twin = is_twin(column.cell, column.values) and len(column.values) == table.capacity
        expect(f"column {name}", "one array with its twin, of the table's length", twin, True)


def _expect_of_pods(table: NodeTable, row: int, what: str, found: int, expected: int) -> None:
    if found != expected:
        expect(place_of(table, row), what, found, expected, pods_story(table, row))


def _all_columns(table: NodeTable) -> Iterator[tuple[str, Column]]:
    yield from table.amounts_requested.columns().items()
    yield from table.offered.columns().items()
    yield from table._nonzero.items()
    yield from (("pod count", table.pod_count), ("allowed pods", table.allowed_pods))


@TABLE_CHECKS.of(TAINT_SETS)
def _validate_nodes(table: NodeTable) -> None:
    """The columns of node objects, on the rows that have one."""
    for row, node in live_rows(table):
        place, offered = place_of(table, row), node_allocatable(node)
        expect(place, "amounts offered", table.offered.by_row[row], offered)
        expect(place, "allowed pods", table.allowed_pods.cell[row], offered.get("pods", 0))
        for resource, column in table.offered.columns().items():
            expect(place, f"allocatable {resource}", column.cell[row], offered.get(resource, 0))
        expect(place, "unschedulable", bool(table.unschedulable[row]), node.spec.unschedulable)
        timeless = tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints)
        expect(place, "taints", table.taints.sets[table.taints.ids[row]], timeless)


@TABLE_CHECKS.of(LABEL_VALUES, REQUIREMENT_COLUMNS, OFFERED_COLUMNS)
def _validate_labels(table: NodeTable) -> None:
    labels = table._labels
    for row, node in live_rows(table):
        place, own = place_of(table, row), node.metadata.labels
        for key, values in labels._values.items():
            expected = values.known.get(own[key]) if key in own else -1
            expect(place, f"value id of label {key}", int(values.ids[row]), expected)
        for requirement, met in labels._met.items():
            expect(place, f"requirement {requirement}", bool(met[row]), requirement.matches(own))

    offered = Counter(key for _, node in live_rows(table) for key in node_allocatable(node))
    expect("table", "number of nodes by offered resource", table.offered._nodes_with, offered)
    labelled = Counter(key for _, node in live_rows(table) for key in node.metadata.labels)
    expect("table", "number of nodes by label", labels._nodes_with, labelled)


@TABLE_CHECKS.of(IMAGES)
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
        expect(place_of(table, row), "images (size, number of nodes)", states, expected)


@TABLE_CHECKS.of(SPARSE_FACTS)
def _validate_sparse(table: NodeTable) -> None:
    """Facts that most rows do not have: a row without them has no entry."""
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
    # A port that two pods hold is free once one of them has gone: what is in use may be less than what is held.
    for row, used in table.sparse.used_ports.items():
        expect(place_of(table, row), "used ports that no pod holds", used - ports.get(row, set()), set())
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
