# SPDX-License-Identifier: Apache-2.0
"""Matching pods per row and per topology domain, pushed as pods and nodes come and go."""

from __future__ import annotations

from tests.state.matching import Labelled, Untainted, app
from tests.state.tables import HOSTNAME, ZONE, Tables, cells, usual_node

from steersman.api.selectors import from_label_selector, from_labels
from steersman.framework.nodes_view import DomainCounts
from steersman.scheduler.state.label_classes import LabelClass
from steersman.testing import PodBuilder, is_in, label_selector, make_node, make_pod


def web(name: str) -> PodBuilder:
    return make_pod(name).label("app", "web")


def by_value(tables: Tables, counts: DomainCounts) -> dict[str, int]:
    """Counts by label value, as far as rows have one."""
    key = counts.topology.key
    values = {}
    for row in tables.table.live_rows():
        value = tables.table.node(row).metadata.labels.get(key)
        if value is not None:
            values[value] = int(counts.counts[counts.topology.domain[row]])
    return values


class TestPerRow:
    def test_a_new_matcher_counts_the_pods_that_are_there(self) -> None:
        tables = Tables()
        first, second = tables.add_node("n1"), tables.add_node("n2")
        for pod, node in ((web("a"), "n1"), (web("b"), "n1"), (make_pod("c").label("app", "db"), "n2")):
            tables.add(pod, node)
        assert cells(tables.table.matching(app("web")).per_row, first, second) == [2, 0]
        tables.check()

    def test_counts_follow_pods_that_come_and_go(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        counts = tables.table.matching(app("web"))
        pod = tables.add(web("a"), "n1")
        tables.add(web("b"), "n1")
        assert cells(counts.per_row, row) == [2]
        tables.table.remove_pod(pod, "n1")
        assert cells(counts.per_row, row) == [1]
        tables.check()

    def test_equal_matchers_share_a_table(self) -> None:
        tables = Tables()
        assert tables.table.matching(app("web")) is tables.table.matching(app("web"))

    def test_terminating_pods_form_a_class_of_their_own(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        tables.add(web("a"), "n1")
        tables.add(web("b").terminating(), "n1")
        assert cells(tables.table.matching(app("web")).per_row, row) == [1]
        tables.check()

    def test_a_pod_that_comes_back_is_counted_again(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        counts = tables.table.matching(app("web"))
        pod = tables.add(web("a"), "n1")
        tables.table.remove_pod(pod, "n1")
        other = tables.add(web("b"), "n1")
        tables.table.add_pod(pod, "n1")
        assert cells(counts.per_row, row) == [2]
        tables.check()
        tables.table.remove_pod(other, "n1")
        tables.table.remove_pod(pod, "n1")
        assert cells(counts.per_row, row) == [0]
        tables.check()

    def test_namespaces_are_matched_by_their_labels(self) -> None:
        tables = Tables()
        tables.namespaces["shop"] = {"team": "a"}
        row = tables.add_node("n1")
        tables.add(web("a").namespace("shop"), "n1")
        tables.add(web("b"), "n1")
        assert cells(tables.table.matching(app("web", team="a")).per_row, row) == [1]
        assert cells(tables.table.matching(app("web")).per_row, row) == [2]

    def test_a_changed_namespace_makes_the_tables_again(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        tables.add(web("a").namespace("shop"), "n1")
        stale = tables.table.matching(app("web", team="a"))
        epoch, generation = tables.table.namespaces_epoch, tables.table.generation
        tables.namespaces["shop"] = {"team": "a"}
        tables.table.on_namespaces_changed()
        assert (tables.table.namespaces_epoch, tables.table.generation) != (epoch, generation)
        fresh = tables.table.matching(app("web", team="a"))
        assert fresh is not stale
        assert cells(fresh.per_row, row) == [1]
        tables.add(web("b").namespace("shop"), "n1")
        assert cells(fresh.per_row, row) == [2]
        tables.check()

    def test_unread_matchers_are_evicted_for_others(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        tables.add(web("a"), "n1")
        read = tables.table.matching(app("web"))
        for index in range(1000):
            tables.table.matching(app(f"app-{index}"))
        assert len(tables.table.counts.tables()) <= 257
        assert tables.table.matching(app("web")) is read
        tables.add(web("b"), "n1")
        assert cells(read.per_row, row) == [2]
        tables.check()

    def test_a_matcher_that_comes_back_counts_as_before(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        tables.add(web("a"), "n1")
        tables.table.matching(app("web"))
        for index in range(1000):
            tables.table.matching(app(f"app-{index}"))
        tables.add(web("b"), "n1")
        assert cells(tables.table.matching(app("web")).per_row, row) == [2]
        tables.check()

    def test_a_class_does_not_remember_tables_that_have_gone(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        pod = tables.add(web("a"), "n1")
        for index in range(2000):
            tables.table.matching(Labelled(from_label_selector(label_selector(is_in("app", "web", f"x{index}")))))
        label_class = pod.template.label_class
        assert isinstance(label_class, LabelClass)
        assert len(label_class.tables) < 1000
        tables.check()

    def test_label_keys_are_forgotten_after_a_while(self) -> None:
        tables = Tables()
        for index in range(2000):
            tables.table.matching(Labelled(from_labels({f"key-{index}": "x"})))
        assert len(tables.table.label_keys) < 600
        tables.check()

    def test_many_classes_are_found_by_the_value_of_a_label(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        for index in range(50):
            tables.add(make_pod(f"a{index}").label("own", f"hash-{index}"), "n1")
        for index in (3, 4, 5):
            counts = tables.table.matching(Labelled(from_labels({"own": f"hash-{index}"})))
            assert cells(counts.per_row, row) == [1]
        tables.check()
        late = tables.add(make_pod("late").label("own", "hash-5"), "n1")
        assert cells(counts.per_row, row) == [2]
        tables.table.remove_pod(late, "n1")
        tables.check()


class TestByDomain:
    def test_domains_sum_their_rows(self) -> None:
        tables = Tables()
        for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
            tables.add_node(usual_node(name, zone))
        tables.add(web("p1"), "n1")
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        tables.add(web("p2"), "n2")
        tables.add(web("p3"), "n3")
        assert by_value(tables, counts) == {"a": 2, "b": 1}
        assert counts.total == 3
        tables.check()

    def test_rows_without_the_label_are_summed_apart(self) -> None:
        tables = Tables()
        tables.add_node(make_node("bare"))
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        tables.add(web("p"), "bare")
        assert counts.counts[0] == 1
        assert counts.eligible_rows[0] == 1
        assert counts.total == 0
        tables.check()

    def test_a_node_that_changes_its_zone_takes_its_pods_along(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1", "a"))
        tables.add_node(usual_node("n2", "b"))
        tables.add(web("p"), "n1")
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        tables.add_node(usual_node("n1", "b"))
        assert by_value(tables, counts) == {"b": 1}
        tables.check()

    def test_a_removed_node_takes_its_pods_along(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1", "a"))
        tables.add_node(usual_node("n2", "a"))
        pod = tables.add(web("p"), "n1")
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        tables.table.remove_node("n1")
        assert by_value(tables, counts) == {"a": 0}
        tables.check()
        tables.table.remove_pod(pod, "n1")
        tables.check()

    def test_pods_that_came_before_their_node_count_once_it_is_there(self) -> None:
        tables = Tables()
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        tables.add(web("p"), "n1")
        assert counts.total == 0
        tables.add_node(usual_node("n1", "a"))
        assert by_value(tables, counts) == {"a": 1}
        tables.check()

    def test_only_eligible_rows_count(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1", "a"))
        tables.add_node(usual_node("n2", "a").taint("gpu"))
        tables.add(web("p1"), "n1")
        tables.add(web("p2"), "n2")
        topology = tables.table.topology(ZONE)
        counts = tables.table.matching(app("web")).by_domain(topology, Untainted(tables.table))
        assert by_value(tables, counts) == {"a": 1}
        assert counts.eligible_rows.sum() == 1
        tables.check()

    def test_a_row_becomes_eligible_when_its_node_changes(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1", "a").taint("gpu"))
        tables.add(web("p"), "n1")
        topology = tables.table.topology(ZONE)
        counts = tables.table.matching(app("web")).by_domain(topology, Untainted(tables.table))
        assert counts.total == 0
        tables.add_node(usual_node("n1", "a"))
        assert counts.total == 1
        tables.add_node(usual_node("n1", "a").taint("gpu"))
        assert counts.total == 0
        tables.check()

    def test_equal_eligibilities_share_a_table(self) -> None:
        tables = Tables()
        counts, topology = tables.table.matching(app("web")), tables.table.topology(ZONE)
        eligible = Untainted(tables.table)
        assert counts.by_domain(topology, eligible) is counts.by_domain(topology, Untainted(tables.table))
        assert counts.by_domain(topology) is not counts.by_domain(topology, eligible)

    def test_unread_tables_are_freed_immediately(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        tables.add(web("p"), "n1")
        counts = tables.table.matching(app("web"))
        read = counts.by_domain(tables.table.topology(ZONE))
        for index in range(200):
            counts.by_domain(tables.table.topology(f"key-{index}"))
        assert list(counts.domains()) == [read]
        assert tables.table.cache_sizes()["topologies"] <= 10
        tables.check()

    def test_tables_grow_with_the_number_of_domains(self) -> None:
        tables = Tables(capacity=64)
        tables.add_node(usual_node("n", "first"))
        tables.add(web("p"), "n")
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(ZONE))
        before = len(counts.counts)
        for index in range(40):
            tables.add_node(usual_node(f"n{index}", f"zone-{index}"))
            tables.add(web(f"p{index}"), f"n{index}")
        assert len(counts.counts) > before
        assert by_value(tables, counts)["first"] == 1
        assert counts.total == 41
        tables.check()

    def test_hostname_domains_survive_repeated_hostnames(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1"))
        counts = tables.table.matching(app("web")).by_domain(tables.table.topology(HOSTNAME))
        tables.add(web("p1"), "n1")
        tables.add_node(usual_node("n2").label(HOSTNAME, "n1"))
        tables.add(web("p2"), "n2")
        assert by_value(tables, counts) == {"n1": 2}
        tables.add_node(usual_node("n1").label(HOSTNAME, "other"))
        assert by_value(tables, counts) == {"n1": 1, "other": 1}
        tables.check()
