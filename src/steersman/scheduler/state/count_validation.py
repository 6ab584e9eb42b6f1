# SPDX-License-Identifier: Apache-2.0
"""Recomputes topology domains, label classes, count tables and affinity terms from nodes and pods;
part of `validation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from steersman.api import HOSTNAME_LABEL
from steersman.base import ReferenceChecks
from steersman.framework import AffinityTerm, IntColumn, TermKind, label_keys_of, weighing
from steersman.scheduler.state.domain_counts import DOMAIN_COUNTS, DomainCountsTable, MatchCountsTable
from steersman.scheduler.state.invariants import describe_pods, describe_row, expect, live_rows, pods_on_rows
from steersman.scheduler.state.label_classes import INDEXED_CLASSES, LABEL_CLASSES, LabelClass, LabelClasses, class_key
from steersman.scheduler.state.label_keys import LABEL_KEYS_IN_USE
from steersman.scheduler.state.node_table import TOPOLOGIES, NodeTable
from steersman.scheduler.state.pod_counts import COUNT_TABLES
from steersman.scheduler.state.term_tables import TERM_TABLES, terms_of
from steersman.scheduler.state.topology import TopologyColumn

if TYPE_CHECKING:
    pass


#: Checks of counts by domain and by selector.
COUNT_CHECKS: ReferenceChecks[NodeTable] = ReferenceChecks()


@COUNT_CHECKS.register(TOPOLOGIES)
def _validate_topologies(table: NodeTable) -> None:
    for topology in table._topologies.values():
        _validate_topology(table, topology)


def _validate_topology(table: NodeTable, topology: TopologyColumn) -> None:
    place = f"topology {topology.key}"
    id_of_value: dict[str, int] = {}
    regular = topology.key == HOSTNAME_LABEL
    for row, node in enumerate(table.nodes):
        domain = int(topology.domain[row])
        value = None if node is None else node.metadata.labels.get(topology.key)
        if value is None:
            expect(f"{place}, {describe_row(table, row)}", "domain of a row without the label", domain, 0)
        else:
            expected = id_of_value.setdefault(value, domain)
            expect(f"{place}, {describe_row(table, row)}", f"domain of {value}", domain, expected)
            expect(
                f"{place}, {describe_row(table, row)}", f"domain of {value} in range", 0 < domain < topology.size, True
            )
        regular = regular and (node is None or domain == row + 1)
    expect(place, "number of domains", len(set(id_of_value.values())), len(id_of_value), "one id per value")
    in_use = Counter(domain for domain in topology.domain.tolist() if domain)
    expect(place, "number of rows by domain", topology._row_count, in_use)
    expect(place, "ids by value", topology._ids, id_of_value)
    expect(place, "one row per domain", topology.one_row_per_domain, regular)
    per_domain = np.arange(topology.size)
    for row, _ in live_rows(table):
        found = int(topology.gather(per_domain)[row])
        expect(f"{place}, {describe_row(table, row)}", "gathered domain", found, int(topology.domain[row]))


@COUNT_CHECKS.register(LABEL_CLASSES, INDEXED_CLASSES)
def _validate_label_classes(table: NodeTable) -> None:
    classes = table.counts.classes
    rows_of: dict[object, Counter[int]] = {}
    for row, pod in pods_on_rows(table):
        key = class_key(pod)
        rows_of.setdefault(key, Counter())[row] += 1
        if not pod.is_terminating and not table.counts.belongs_to_fork(pod.template.label_class):
            expect(f"pod {pod.key}", "label class", pod.template.label_class, classes.get(key), "the registered one")
    expect("label classes", "pods by row", {known.key: known.rows for known in classes}, rows_of)
    by_namespace: dict[str, set[object]] = {}
    for known in classes:
        by_namespace.setdefault(known.namespace, set()).add(known)
        _validate_tables_of_class(table, known)
    expect("label classes", "by namespace", {n: set(c) for n, c in classes._by_namespace.items()}, by_namespace)
    _validate_filed_classes(classes)


def _validate_tables_of_class(table: NodeTable, known: LabelClass) -> None:
    counts = table.counts
    if known.generation != counts._generation:
        return  # the class looks its tables up when its pods next change
    labels = table.namespace_labels(known.namespace)
    matching = [(id(t), weight) for t in counts.tables() if (weight := weighing(t.matcher)(known, labels))]
    weighted = [*((reference, 1) for reference in known.tables), *known.weighted]
    following = [(id(t), weight) for reference, weight in weighted if (t := reference()) is not None]
    expect(f"label class {known.key}", "count tables", sorted(following), sorted(matching))


def _validate_filed_classes(classes: LabelClasses) -> None:
    for key, by_value in classes._by_label.items():
        expected: dict[str, set[LabelClass]] = {}
        for known in classes:
            if key in known.labels:
                expected.setdefault(known.labels[key], set()).add(known)
        expect("label classes", f"by label {key}", {value: set(found) for value, found in by_value.items()}, expected)


@COUNT_CHECKS.register(LABEL_KEYS_IN_USE)
def _validate_references(table: NodeTable) -> None:
    """Compare the selectors in use by label key and by index entry."""
    matchers = [counted.matcher for counted in table.counts.tables()]
    findable = {matcher for matcher in matchers if matcher.selector.requirements is not None}
    expect("count tables", "matchers in the index", table.counts._index.entries(), findable)
    users = Counter(key for matcher in matchers for key in label_keys_of(matcher))
    for kind in TermKind:
        terms = table.terms(kind)
        in_use = {counted for counted in terms if counted.term.selector.requirements is not None}
        expect(f"{kind.value} terms", "tables in the index", terms._index.entries(), in_use)
        users.update(key for counted in terms for key in counted.term.selector.keys)
    found = {key: count for key, count in table.label_keys.users.items() if count}
    expect("label keys", "selectors by key", found, dict(users))


@COUNT_CHECKS.register(COUNT_TABLES, DOMAIN_COUNTS)
def _validate_count_tables(table: NodeTable) -> None:
    for counts in table.counts.tables():
        _validate_match_counts(table, counts)


def _validate_match_counts(table: NodeTable, counts: MatchCountsTable) -> None:
    place = f"counts of {counts.matcher}"
    expected: Counter[int] = Counter()
    for row, pod in pods_on_rows(table):
        expected[row] += weighing(counts.matcher)(pod, table.namespace_labels(pod.namespace))
    for row in range(table.capacity):
        if counts.per_row.cell[row] != expected[row]:
            pods = describe_pods(table, row)
            expect(
                f"{place}, {describe_row(table, row)}", "matching pods", counts.per_row.cell[row], expected[row], pods
            )
    for domains in counts.domains():
        _validate_domain_counts(table, f"{place} by {domains.topology.key}", domains, expected)


def _validate_domain_counts(table: NodeTable, place: str, domains: DomainCountsTable, pods: Mapping[int, int]) -> None:
    topology, eligible = domains._topology, domains._eligible
    expect(place, "topology the table's own", topology is table._topologies.peek(topology.key), True)
    answers = None if eligible is None else eligible.rows()
    counts: Counter[int] = Counter()
    eligible_rows: Counter[int] = Counter()
    for row, node in enumerate(table.nodes):
        counted = node is not None and (eligible is None or eligible.row(row))
        if answers is not None and node is not None:
            expect(f"{place}, {describe_row(table, row)}", "eligible (all rows at once)", bool(answers[row]), counted)
        expect(f"{place}, {describe_row(table, row)}", "counted", bool(domains._counts_row[row]), counted)
        if counted:
            counts[int(topology.domain[row])] += pods[row]
            eligible_rows[int(topology.domain[row])] += 1
    _expect_domains(place, "matching pods", domains.counts, counts)
    _expect_domains(place, "eligible rows", domains.eligible_rows, eligible_rows)
    expect(place, "length of the table", len(domains.counts) >= topology.size, True)
    expect(place, "view of the same array", shares_memory(domains.cell, domains.counts), True)
    expect(place, "total", domains.total, sum(n for domain, n in counts.items() if domain))


@COUNT_CHECKS.register(TERM_TABLES)
def _validate_terms(table: NodeTable) -> None:
    """Compare the terms of pods on rows, by domain, with the term tables."""
    expected: dict[tuple[TermKind, AffinityTerm], Counter[int]] = {}
    for row, pod in pods_on_rows(table):
        for kind, term in terms_of(pod.shape):
            domain = int(table.topology(term.topology_key).domain[row])
            expected.setdefault((kind, term), Counter())[domain] += bool(domain)
    pods = Counter((kind, term) for _, pod in pods_on_rows(table) for kind, term in terms_of(pod.shape))
    known = {(kind, counted.term): counted for kind in TermKind for counted in table.terms(kind)}
    expect("affinity terms", "terms that have a table", known.keys(), pods.keys(), "those that pods have")
    for (kind, term), counted in known.items():
        place = f"{kind.value} term {term}"
        domains = +expected.get((kind, term), Counter())
        expect(place, "pods by domain", counted.by_domain(), dict(domains))
        expect(place, "total", counted.total, domains.total())
        expect(place, "pods with the term", counted.users, pods[kind, term])
    shapes = Counter(pod.shape for _, pod in pods_on_rows(table) if pod.shape.has_affinity)
    counted_pods = {shape: terms.pods for shape, terms in table._terms._of_shape.items()}
    expect("affinity terms", "pods by shape", counted_pods, dict(shapes))


def _expect_domains(place: str, what: str, counts: Iterable[int], expected: Mapping[int, int]) -> None:
    found = {domain: int(count) for domain, count in enumerate(counts) if count}
    expect(place, f"{what} by domain", found, {domain: count for domain, count in expected.items() if count})


def shares_memory(cell: memoryview, values: IntColumn) -> bool:
    return np.shares_memory(np.asarray(cell), values)
