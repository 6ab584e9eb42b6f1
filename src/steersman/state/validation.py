# SPDX-License-Identifier: Apache-2.0
"""Recomputes from the nodes and pods everything that the columns hold, and tells the first difference as a story.

The slow twin of every write in this package: nothing here is incremental. `Cache.validate_state()` calls it; tests do so
after every step. It reads the private parts of its neighbours, because it is the one place that has to know all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from steersman.api import Node, Taint
from steersman.change_log import ChangeLog
from steersman.errors import SteersmanError
from steersman.framework.nodes_view import Column, IntColumn, TermKind
from steersman.framework.pod_info import AffinityTerm, HostPort, PodInfo
from steersman.framework.pod_resources import node_allocatable
from steersman.state.domain_counts import DomainCountsTable, MatchCountsTable
from steersman.state.label_classes import LabelClass, LabelClasses, class_key
from steersman.state.pod_lifecycle import PodState
from steersman.state.term_tables import terms_of
from steersman.state.topology import HOSTNAME_KEY, TopologyColumn

if TYPE_CHECKING:
    from steersman.state.cache import Cache
    from steersman.state.node_table import NodeTable


class StateInvariantError(SteersmanError):
    """The columns say something else than the nodes and pods they were made of."""


def validate(cache: Cache) -> None:
    """StateInvariantError at the first difference."""
    _validate_records(cache)
    validate_table(cache.nodes)


def validate_table(table: NodeTable) -> None:
    """The same for the columns alone."""
    _validate_rows(table)
    _validate_amounts(table)
    _validate_nodes(table)
    _validate_labels(table)
    _validate_images(table)
    _validate_sparse(table)
    for topology in table._topologies.values():
        _validate_topology(table, topology)
    _validate_label_classes(table)
    for counts in table.counts.tables():
        _validate_match_counts(table, counts)
    _validate_terms(table)
    _validate_references(table)
    for log in (table.log, table.node_log, table.start_log):
        _validate_log(log)


# -- the story -----------------------------------------------------------------------------------------------------------


def _expect(place: str, what: str, found: object, expected: object, because: str = "") -> None:
    if found != expected:
        story = f"state is inconsistent: {place}: {what} is {found!r}, expected {expected!r}"
        raise StateInvariantError(f"{story} ({because})" if because else story)


def _place(table: NodeTable, row: int) -> str:
    name = table.names[row]
    if not name:
        return f"row {row} (free)"
    return f"row {row} (node {name})" if table.nodes[row] is not None else f"row {row} (pods of missing node {name})"


def _pods_story(table: NodeTable, row: int) -> str:
    return f"pods there: {', '.join(pod.key for pod in table.pods_on[row].values()) or 'none'}"


# -- records and rows ----------------------------------------------------------------------------------------------------


def _validate_records(cache: Cache) -> None:
    table = cache.nodes
    for uid, record in cache._records.items():
        place = f"pod {record.info.key}"
        _expect(place, "uid", record.info.uid, uid)
        row = table.rows.get(record.node_name)
        here = None if row is None else table.pods_on[row].get(uid)
        _expect(place, f"pod on the row of node {record.node_name}", here, record.info, f"story: {record.life.story}")
        _expect(place, "gone", record.state is PodState.ABSENT, False, f"story: {record.life.story}")
        _validate_info(cache, record.info)
    assumed = {uid for uid, record in cache._records.items() if record.life.is_assumed}
    _expect("cache", "number of assumed pods", cache.assumed_count, len(assumed), "by their records")
    _expect("cache", "pods that expire without being assumed", sorted(cache._deadlines.keys() - assumed), [])
    on_rows = sum(map(len, table.pods_on))
    _expect("cache", "number of pods on rows", on_rows, cache.pod_count, "number of records")


def _validate_info(cache: Cache, info: PodInfo) -> None:
    """What is kept of a pod is what follows from its API object."""
    fresh = cache.shapes.info(info.pod)
    for part in ("uid", "key", "labels", "priority", "node_name", "is_terminating", "nominated_node", "scheduler_name"):
        _expect(f"pod {info.key}", part, getattr(info, part), getattr(fresh, part), "by the API object")
    _expect(f"pod {info.key}", "shape of the API object", info.shape is fresh.shape, True)


def _validate_rows(table: NodeTable) -> None:
    for name, per_row in (("names", table.names), ("nodes", table.nodes), ("pods", table.pods_on)):
        _expect("table", f"number of rows with {name}", len(per_row), table.capacity)
    named = {row: name for row, name in enumerate(table.names) if name}
    _expect("table", "rows by name", {row: name for name, row in table.rows.items()}, named)
    _expect("table", "free rows", sorted(table._free), [r for r in range(table.capacity) if r not in named])
    _expect("table", "number of nodes", table.node_count, sum(node is not None for node in table.nodes))
    for row, node in enumerate(table.nodes):
        place, pods = _place(table, row), table.pods_on[row]
        _expect(place, "alive", bool(table.alive[row]), node is not None)
        _expect(place, "in use", row in named, node is not None or bool(pods))
        _expect(place, "uids", [pod.uid for pod in pods.values()], list(pods))
        if node is not None:
            _expect(place, "name of the node", node.metadata.name, table.names[row])


# -- columns -------------------------------------------------------------------------------------------------------------


def _validate_amounts(table: NodeTable) -> None:
    """What pods add up to, on every row: without pods, zero."""
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
    _expect("table", "resources that no pod requests", empty, [])
    for name, column in _all_columns(table):
        twin = _is_twin(column.cell, column.values) and len(column.values) == table.capacity
        _expect(f"column {name}", "one array with its twin, of the table's length", twin, True)


def _expect_of_pods(table: NodeTable, row: int, what: str, found: int, expected: int) -> None:
    if found != expected:
        _expect(_place(table, row), what, found, expected, _pods_story(table, row))


def _all_columns(table: NodeTable) -> Iterator[tuple[str, Column]]:
    yield from table.amounts_requested.columns().items()
    yield from table.offered.columns().items()
    yield from table._nonzero.items()
    yield from (("pod count", table.pod_count), ("allowed pods", table.allowed_pods))


def _validate_nodes(table: NodeTable) -> None:
    """What node objects say, on the rows that have one."""
    for row, node in _live(table):
        place, offered = _place(table, row), node_allocatable(node)
        _expect(place, "amounts offered", table.offered.by_row[row], offered)
        _expect(place, "allowed pods", table.allowed_pods.cell[row], offered.get("pods", 0))
        for resource, column in table.offered.columns().items():
            _expect(place, f"allocatable {resource}", column.cell[row], offered.get(resource, 0))
        _expect(place, "unschedulable", bool(table.unschedulable[row]), node.spec.unschedulable)
        timeless = tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.spec.taints)
        _expect(place, "taints", table.taints.sets[table.taints.ids[row]], timeless)


def _validate_labels(table: NodeTable) -> None:
    labels = table._labels
    for row, node in _live(table):
        place, own = _place(table, row), node.metadata.labels
        for key, values in labels._values.items():
            expected = values.known.get(own[key]) if key in own else -1
            _expect(place, f"value id of label {key}", int(values.ids[row]), expected)
        for requirement, met in labels._met.items():
            _expect(place, f"requirement {requirement}", bool(met[row]), requirement.matches(own))

    offered = Counter(key for _, node in _live(table) for key in node_allocatable(node))
    _expect("table", "number of nodes by offered resource", table.offered._nodes_with, offered)
    labelled = Counter(key for _, node in _live(table) for key in node.metadata.labels)
    _expect("table", "number of nodes by label", labels._nodes_with, labelled)


def _validate_images(table: NodeTable) -> None:
    listed: dict[str, set[int]] = {}
    for row, node in _live(table):
        for image in node.status.images:
            for name in image.names:
                listed.setdefault(name, set()).add(row)
    known = table.images._rows
    _expect("images", "rows by name", {name: set(rows) for name, rows in known.items()}, listed)
    for row in range(table.capacity):
        states = {name: (state.size, state.num_nodes) for name, state in table.images.states_of(row).items()}
        expected = {name: (known[name][row], len(rows)) for name, rows in listed.items() if row in rows}
        _expect(_place(table, row), "images (size, number of nodes)", states, expected)


def _validate_sparse(table: NodeTable) -> None:
    """Facts that most rows do not have: a row without them has no entry."""
    ports: dict[int, set[HostPort]] = {}
    claims: dict[int, Counter[str]] = {}
    affine: dict[int, dict[str, PodInfo]] = {}
    for row, pod in _pods(table):
        if pod.shape.host_ports:
            ports.setdefault(row, set()).update(pod.shape.host_ports)
        if pod.claims:
            claims.setdefault(row, Counter()).update(pod.claims)
        if pod.shape.has_affinity:
            affine.setdefault(row, {})[pod.uid] = pod
    # A port that two pods hold is free once one of them has gone: what is in use may be less than what is held.
    for row, used in table.used_ports.items():
        _expect(_place(table, row), "used ports that no pod holds", used - ports.get(row, set()), set())
    _expect(
        "table", "rows with an empty set of used ports", [r for r, used in table.used_ports.items() if not used], []
    )
    _expect("table", "claim users by row", table.claim_users, claims)
    _expect("table", "pods with affinity by row", table.affinity_pods, affine)


# -- topology and counts -------------------------------------------------------------------------------------------------


def _validate_topology(table: NodeTable, topology: TopologyColumn) -> None:
    place = f"topology {topology.key}"
    id_of_value: dict[str, int] = {}
    regular = topology.key == HOSTNAME_KEY
    for row, node in enumerate(table.nodes):
        domain = int(topology.domain[row])
        value = None if node is None else node.metadata.labels.get(topology.key)
        if value is None:
            _expect(f"{place}, {_place(table, row)}", "domain of a row without the label", domain, 0)
        else:
            expected = id_of_value.setdefault(value, domain)
            _expect(f"{place}, {_place(table, row)}", f"domain of {value}", domain, expected)
            _expect(f"{place}, {_place(table, row)}", f"domain of {value} in range", 0 < domain < topology.size, True)
        regular = regular and (node is None or domain == row + 1)
    _expect(place, "number of domains", len(set(id_of_value.values())), len(id_of_value), "one id per value")
    in_use = Counter(domain for domain in topology.domain.tolist() if domain)
    _expect(place, "number of rows by domain", topology._row_count, in_use)
    _expect(place, "ids by value", topology._ids, id_of_value)
    _expect(place, "one row per domain", topology.one_row_per_domain, regular)
    per_domain = np.arange(topology.size)
    for row, _ in _live(table):
        found = int(topology.gather(per_domain)[row])
        _expect(f"{place}, {_place(table, row)}", "gathered domain", found, int(topology.domain[row]))


def _validate_label_classes(table: NodeTable) -> None:
    classes = table.counts.classes
    rows_of: dict[object, Counter[int]] = {}
    for row, pod in _pods(table):
        key = class_key(pod)
        rows_of.setdefault(key, Counter())[row] += 1
        if not pod.is_terminating:
            _expect(f"pod {pod.key}", "label class", pod.template.label_class, classes.get(key), "the registered one")
    _expect("label classes", "pods by row", {known.key: known.rows for known in classes}, rows_of)
    by_namespace: dict[str, set[object]] = {}
    for known in classes:
        by_namespace.setdefault(known.namespace, set()).add(known)
        _validate_tables_of_class(table, known)
    _expect("label classes", "by namespace", {n: set(c) for n, c in classes._by_namespace.items()}, by_namespace)
    _validate_filed_classes(classes)


def _validate_tables_of_class(table: NodeTable, known: LabelClass) -> None:
    counts = table.counts
    labels = table.namespace_labels(known.namespace)
    matching = {id(t) for t in counts.tables() if t.matcher.matches(known, labels)}
    following = [id(t) for reference in known.tables if (t := reference()) is not None]
    found = following if known.generation == counts._generation else []
    _expect(f"label class {known.key}", "count tables", sorted(found), sorted(matching))


def _validate_filed_classes(classes: LabelClasses) -> None:
    for key, by_value in classes._by_label.items():
        expected: dict[str, set[LabelClass]] = {}
        for known in classes:
            if key in known.labels:
                expected.setdefault(known.labels[key], set()).add(known)
        _expect("label classes", f"by label {key}", {value: set(found) for value, found in by_value.items()}, expected)


def _validate_references(table: NodeTable) -> None:
    """Selectors in use, counted by the label keys that they refer to and found by what they demand."""
    matchers = [counted.matcher for counted in table.counts.tables()]
    findable = {matcher for matcher in matchers if matcher.selector.requirements is not None}
    _expect("count tables", "matchers in the index", table.counts._index.entries(), findable)
    users = Counter(key for matcher in matchers for key in matcher.selector.keys)
    for kind in TermKind:
        terms = table.terms(kind)
        in_use = {counted for counted in terms if counted.term.selector.requirements is not None}
        _expect(f"{kind.value} terms", "tables in the index", terms._index.entries(), in_use)
        users.update(key for counted in terms for key in counted.term.selector.keys)
    found = {key: count for key, count in table.label_keys.users.items() if count}
    _expect("label keys", "selectors by key", found, dict(users))


def _validate_match_counts(table: NodeTable, counts: MatchCountsTable) -> None:
    place = f"counts of {counts.matcher}"
    expected: Counter[int] = Counter()
    for row, pod in _pods(table):
        expected[row] += counts.matcher.matches(pod, table.namespace_labels(pod.namespace))
    for row in range(table.capacity):
        if counts.per_row.cell[row] != expected[row]:
            story = _pods_story(table, row)
            _expect(f"{place}, {_place(table, row)}", "matching pods", counts.per_row.cell[row], expected[row], story)
    for domains in counts.domains():
        _validate_domain_counts(table, f"{place} by {domains.topology.key}", domains, expected)


def _validate_domain_counts(table: NodeTable, place: str, domains: DomainCountsTable, pods: Mapping[int, int]) -> None:
    topology, eligible = domains._topology, domains._eligible
    _expect(place, "topology the table's own", topology is table._topologies.peek(topology.key), True)
    answers = None if eligible is None else eligible.rows()
    counts: Counter[int] = Counter()
    eligible_rows: Counter[int] = Counter()
    for row, node in enumerate(table.nodes):
        counted = node is not None and (eligible is None or eligible.row(row))
        if answers is not None and node is not None:
            _expect(f"{place}, {_place(table, row)}", "eligible (all rows at once)", bool(answers[row]), counted)
        _expect(f"{place}, {_place(table, row)}", "counted", bool(domains._counts_row[row]), counted)
        if counted:
            counts[int(topology.domain[row])] += pods[row]
            eligible_rows[int(topology.domain[row])] += 1
    _expect_domains(place, "matching pods", domains.counts, counts)
    _expect_domains(place, "eligible rows", domains.eligible_rows, eligible_rows)
    _expect(place, "length of the table", len(domains.counts) >= topology.size, True)
    _expect(place, "twin of the same array", _is_twin(domains.cell, domains.counts), True)
    _expect(place, "total", domains.total, sum(n for domain, n in counts.items() if domain))


def _validate_terms(table: NodeTable) -> None:
    """Every term that pods on rows have, no other, and by domain those whose node has the label."""
    expected: dict[tuple[TermKind, AffinityTerm], Counter[int]] = {}
    for row, pod in _pods(table):
        for kind, term in terms_of(pod.shape):
            domain = int(table.topology(term.topology_key).domain[row])
            expected.setdefault((kind, term), Counter())[domain] += bool(domain)
    pods = Counter((kind, term) for _, pod in _pods(table) for kind, term in terms_of(pod.shape))
    known = {(kind, counted.term): counted for kind in TermKind for counted in table.terms(kind)}
    _expect("affinity terms", "terms that have a table", known.keys(), pods.keys(), "those that pods have")
    for (kind, term), counted in known.items():
        place = f"{kind.value} term {term}"
        domains = +expected.get((kind, term), Counter())
        _expect(place, "pods by domain", counted.by_domain(), dict(domains))
        _expect(place, "total", counted.total, domains.total())
        _expect(place, "pods with the term", counted.users, pods[kind, term])
    shapes = Counter(pod.shape for _, pod in _pods(table) if pod.shape.has_affinity)
    counted_pods = {shape: terms.pods for shape, terms in table._terms._of_shape.items()}
    _expect("affinity terms", "pods by shape", counted_pods, dict(shapes))


def _expect_domains(place: str, what: str, counts: Iterable[int], expected: Mapping[int, int]) -> None:
    found = {domain: int(count) for domain, count in enumerate(counts) if count}
    _expect(place, f"{what} by domain", found, {domain: count for domain, count in expected.items() if count})


def _is_twin(cell: memoryview, values: IntColumn) -> bool:
    return np.shares_memory(np.asarray(cell), values)


def _validate_log(log: ChangeLog[int]) -> None:
    _expect("log of changed rows", "end", log.end, log.base + len(log.entries))


# -- reading -------------------------------------------------------------------------------------------------------------


def _live(table: NodeTable) -> Iterator[tuple[int, Node]]:
    return ((row, node) for row, node in enumerate(table.nodes) if node is not None)


def _pods(table: NodeTable) -> Iterator[tuple[int, PodInfo]]:
    return ((row, pod) for row, pods in enumerate(table.pods_on) for pod in pods.values())
