# SPDX-License-Identifier: Apache-2.0
"""Affinity terms of pods that run, counted by domain."""

from __future__ import annotations

from tests.state.tables import ZONE, Tables, usual_node

from steersman.api.selectors import from_labels
from steersman.framework.nodes_view import TermKind
from steersman.testing import exists, make_node, make_pod

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
    (table,) = tables.table.terms(TermKind.PREFERRED_ANTI_AFFINITY)
    assert table.term.weight == 7
    tables.check()


def test_equal_terms_of_different_pods_share_a_table() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1", "a"))
    tables.add_node(usual_node("n2", "b"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB).req(cpu="1"), "n1")
    tables.add(make_pod("b").anti_affinity(ZONE, WEB), "n2")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    assert table.total == 2
    assert list(table.by_domain().values()) == [1, 1]
    tables.check()


def test_a_pod_with_the_same_term_twice_counts_twice() -> None:
    tables = Tables()
    tables.add_node("n1")
    tables.add(make_pod("a").anti_affinity(ZONE, WEB).anti_affinity(ZONE, WEB), "n1")
    assert counts_of(tables, TermKind.REQUIRED_ANTI_AFFINITY) == [2]
    tables.check()


def test_the_last_pod_takes_the_table_along() -> None:
    tables = Tables()
    tables.add_node("n1")
    pod = tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n1")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    tables.table.remove_pod(pod, "n1")
    assert not list(tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY))
    assert table.total == table.users == 0
    assert not tables.table.sparse.affinity_pods
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
    assert table.by_domain() == {int(tables.table.topology(ZONE).domain[row]): 1}
    assert table.total == 1
    tables.check()


def test_tables_grow_with_the_number_of_domains() -> None:
    tables = Tables(capacity=64)
    tables.add_node(usual_node("n", "first"))
    tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    for index in range(200):
        tables.add_node(usual_node(f"n{index}", f"zone-{index}"))
        tables.add(make_pod(f"a{index}").anti_affinity(ZONE, WEB), f"n{index}")
    (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
    assert len(table.mark_inhabited(None)) == tables.table.topology(ZONE).size
    assert table.total == 201
    tables.check()


def test_few_and_many_domains_are_read_alike() -> None:
    for count in (1, 64, 65, 100):
        tables = Tables(capacity=128)
        for index in range(count):
            tables.add_node(usual_node(f"n{index}", f"zone-{index}"))
            tables.add(make_pod(f"a{index}").anti_affinity(ZONE, WEB), f"n{index}")
        (table,) = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
        marked, sums = table.mark_inhabited(None), table.add_weighted(None, 7)
        assert table.mark_inhabited(marked.copy()).tolist() == marked.tolist()
        assert (table.add_weighted(sums.copy(), -7) == 0).all()
        assert int(marked.sum()) == count
        assert int(sums.sum()) == 7 * count
        tables.check()


class TestFindingTerms:
    def test_a_pod_finds_the_terms_that_speak_of_its_labels(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        for index in range(50):
            tables.add(make_pod(f"a{index}").anti_affinity(ZONE, {"own": f"hash-{index}"}), "n1")
        terms = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
        found = list(terms.candidates("default", {"own": "hash-7", "app": "web"}))
        assert [str(table.term.selector) for table in found] == ["own=hash-7"]

    def test_terms_without_a_label_value_are_found_by_their_namespaces(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        tables.add(make_pod("a").namespace("shop").anti_affinity(ZONE, exists("app")), "n1")
        terms = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
        assert len(list(terms.candidates("shop", {}))) == 1
        assert not list(terms.candidates("default", {"app": "web"}))

    def test_terms_that_reach_namespaces_by_label_are_always_found(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        tables.add(make_pod("a").anti_affinity(ZONE, exists("app"), namespace_selector={"team": "a"}), "n1")
        assert len(list(tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY).candidates("any", {}))) == 1

    def test_a_frequent_reader_gets_the_tables_added_since(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        terms = tables.table.terms(TermKind.REQUIRED_ANTI_AFFINITY)
        start = terms.end
        tables.add(make_pod("a").anti_affinity(ZONE, WEB), "n1")
        came = terms.since(start)
        assert came is not None
        assert [table.term.selector for table in came] == [from_labels(WEB)]
        for index in range(200):
            tables.add(make_pod(f"a{index}").anti_affinity(ZONE, {"own": f"hash-{index}"}), "n1")
        assert terms.since(start) is None
        tables.check()
