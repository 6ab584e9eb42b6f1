"""Affinity terms of pods that run, counted by domain."""

from __future__ import annotations

from tests.state.tables import ZONE, Tables, usual_node

from steersman.framework.nodes_view import TermKind
from steersman.testing import make_node, make_pod

WEB = {"app": "web"}


def counts_of(tables: Tables, kind: TermKind) -> list[int]:
    return [table.total for table in tables.table.terms(kind)]


def test_terms_are_kept_by_kind() -> None:
    tables = Tables()
    tables.add_node("n1")
    tables.add(make_pod("a").pod_affinity(ZONE, WEB), "n1")
    tables.add(make_pod("b").anti_affinity(ZONE, WEB), "n1")
    tables.add(make_pod("c").pod_affinity(ZONE, WEB, weight=5), "n1")
    tables.add(make_pod("d").anti_affinity(ZONE, WEB, weight=7), "n1")
    assert {kind: counts_of(tables, kind) for kind in TermKind} == {kind: [1] for kind in TermKind}
    assert tables.table.terms(TermKind.PREFERRED_ANTI_AFFINITY)[0].term.weight == 7
    tables.check()


def test_equal_terms_of_different_pods_share_a_table() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1", "a"))
    tables.add_node(usual_node("n2", "b"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB).req(cpu="1"), "n1")
    tables.add(make_pod("b").anti_affinity(ZONE, WEB), "n2")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    assert table.total == 2
    assert sorted(table.counts[table.counts > 0].tolist()) == [1, 1]
    tables.check()


def test_a_pod_with_the_same_term_twice_counts_twice() -> None:
    tables = Tables()
    tables.add_node("n1")
    tables.add(make_pod("a").anti_affinity(ZONE, WEB).anti_affinity(ZONE, WEB), "n1")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [2]
    tables.check()


def test_a_removed_pod_leaves_an_empty_table() -> None:
    tables = Tables()
    tables.add_node("n1")
    pod = tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n1")
    tables.table.remove_pod(pod, "n1")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    assert table.total == 0
    assert not table.counts.any()
    assert not tables.table.affinity_pods
    tables.check()


def test_pods_on_nodes_without_the_topology_label_do_not_count() -> None:
    tables = Tables()
    tables.add_node(make_node("bare"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB), "bare")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [0]
    tables.add_node(usual_node("bare", "a"))
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [1]
    tables.check()


def test_pods_of_a_missing_node_do_not_count() -> None:
    tables = Tables()
    tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n1")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [0]
    tables.add_node("n1")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [1]
    tables.table.remove_node("n1")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [0]
    tables.check()


def test_a_node_that_changes_its_zone_takes_the_terms_along() -> None:
    tables = Tables()
    row = tables.add_node(usual_node("n1", "a"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n1")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    tables.add_node(usual_node("n1", "b"))
    assert table.counts[tables.table.topology(ZONE).domain[row]] == 1
    assert table.total == 1
    tables.check()


def test_tables_grow_with_the_number_of_domains() -> None:
    tables = Tables(capacity=64)
    tables.add_node(usual_node("n", "first"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    for index in range(40):
        tables.add_node(usual_node(f"n{index}", f"zone-{index}"))
    assert len(table.counts) >= tables.table.topology(ZONE).size
    assert table.total == 1
    tables.check()
