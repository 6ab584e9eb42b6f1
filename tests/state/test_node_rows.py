# SPDX-License-Identifier: Apache-2.0
"""Rows of the node table: who gets one, who keeps one, and what happens when they run out."""

from __future__ import annotations

import pytest
from tests.state.tables import HOSTNAME, Tables, cells, usual_node

from steersman.testing import NodeBuilder, make_pod


class TestNodes:
    def test_a_node_is_found_by_its_name(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        assert tables.table.row_of("n1") == row
        assert tables.table.node(row).metadata.name == "n1"
        assert tables.table.node_count == 1
        assert tables.table.alive[row]
        tables.check()

    def test_an_unknown_node_has_no_row(self) -> None:
        assert Tables().table.row_of("n1") is None

    def test_a_row_without_a_node_has_no_node_object(self) -> None:
        with pytest.raises(LookupError, match="row 3 has no node"):
            Tables().table.node(3)

    def test_a_changed_node_keeps_its_row(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        assert tables.add_node(usual_node("n1").label("disk", "ssd")) == row
        assert tables.table.node(row).metadata.labels["disk"] == "ssd"
        assert tables.table.node_count == 1
        tables.check()

    def test_the_row_of_a_removed_node_is_used_again(self) -> None:
        tables = Tables(capacity=2)
        tables.add_node("n1")
        row = tables.add_node(usual_node("n2").taint("gpu").unschedulable())
        tables.table.remove_node("n2")
        assert tables.add_node("n3") == row
        assert not tables.table.unschedulable[row]
        assert tables.table.generation == 0, "nothing had to grow"
        tables.check()

    def test_removing_an_unknown_node_is_refused(self) -> None:
        with pytest.raises(KeyError):
            Tables().table.remove_node("n1")

    def test_live_rows_come_in_the_order_in_which_nodes_appeared(self) -> None:
        tables = Tables()
        rows = [tables.add_node(name) for name in ("n3", "n1", "n2")]
        assert list(tables.table.live_rows()) == rows


class TestChanges:
    def test_a_heartbeat_touches_no_row(self) -> None:
        tables = Tables()
        tables.add_node(usual_node("n1").condition("Ready", "True"))
        before = tables.table.log.end
        tables.add_node(usual_node("n1").condition("Ready", "True").resource_version(7))
        assert tables.table.log.end == before
        assert tables.table.node(0).metadata.resource_version == "7"

    @pytest.mark.parametrize(
        "changed",
        [
            usual_node("n1").label("disk", "ssd"),
            usual_node("n1").annotation("note", "x"),
            usual_node("n1").taint("gpu"),
            usual_node("n1").unschedulable(),
            usual_node("n1").allocatable(cpu="1"),
            usual_node("n1").image("web:v1", size=1),
            usual_node("n1").condition("Ready", "False"),
            usual_node("n1").declared_features("Feature"),
        ],
    )
    def test_a_change_that_matters_touches_the_row(self, changed: NodeBuilder) -> None:
        tables = Tables()
        tables.add_node("n1")
        node_end, end = tables.table.node_log.end, tables.table.log.end
        tables.table.set_node(changed.obj())
        assert list(tables.table.node_log.since(node_end) or ()) == [0]
        assert list(tables.table.log.since(end) or ()) == [0]
        tables.check()

    def test_a_pod_touches_its_row_but_not_the_node(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        row = tables.add_node("n2")
        node_end, end = tables.table.node_log.end, tables.table.log.end
        tables.add(make_pod("p"), "n2")
        assert list(tables.table.log.since(end) or ()) == [row]
        assert tables.table.node_log.end == node_end


class TestGhosts:
    """Rows with pods but without a node."""

    def test_a_pod_may_come_before_its_node(self) -> None:
        tables = Tables()
        tables.add(make_pod("early").req(cpu="1"), "n1")
        assert tables.table.row_of("n1") is None
        assert tables.table.node_count == 0
        tables.check()
        row = tables.add_node("n1")
        assert cells(tables.table.requested("cpu"), row) == [1000]
        assert [pod.name for pod in tables.table.info(row).pods] == ["early"]
        tables.check()

    def test_a_node_may_go_before_its_pods(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        pod = tables.add(make_pod("left").req(cpu="1"), "n1")
        tables.table.remove_node("n1")
        assert tables.table.row_of("n1") is None
        assert not tables.table.alive[row]
        assert list(tables.table.live_rows()) == []
        tables.check()
        tables.table.remove_pod(pod, "n1")
        assert "n1" not in tables.table.rows
        tables.check()

    def test_a_node_that_comes_back_finds_its_pods(self) -> None:
        tables = Tables()
        row = tables.add_node("n1")
        tables.add(make_pod("left").req(cpu="1").host_port(80).anti_affinity(HOSTNAME, {"app": "x"}), "n1")
        tables.table.remove_node("n1")
        assert tables.add_node("n1") == row
        info = tables.table.info(row)
        assert info.requested("cpu") == 1000
        assert info.used_ports == {("0.0.0.0", "TCP", 80)}
        assert len(info.pods_with_required_anti_affinity) == 1
        tables.check()

    def test_a_missing_node_cannot_be_removed_again_while_its_pods_are_left(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        tables.add(make_pod("left"), "n1")
        tables.table.remove_node("n1")
        with pytest.raises(KeyError):
            tables.table.remove_node("n1")

    def test_a_row_of_left_pods_is_not_given_to_another_node(self) -> None:
        tables = Tables(capacity=2)
        tables.add(make_pod("left"), "n1")
        row = tables.table.rows["n1"]
        assert tables.add_node("n2") != row
        tables.check()

    def test_removing_a_pod_that_is_not_there_is_refused(self) -> None:
        tables = Tables()
        tables.add_node("n1")
        with pytest.raises(KeyError):
            tables.table.remove_pod(tables.info(make_pod("stranger")), "n1")


class TestGrowth:
    def test_more_nodes_than_rows_make_the_table_grow(self) -> None:
        tables = Tables(capacity=2)
        rows = [tables.add_node(f"n{index}") for index in range(7)]
        assert len(set(rows)) == 7
        assert tables.table.capacity >= 7
        assert tables.table.node_count == 7
        assert tables.table.generation > 0
        tables.check()

    def test_room_for_a_list_is_made_once(self) -> None:
        tables = Tables(capacity=2)
        tables.add_node("n0")
        tables.table.reserve(500)
        capacity, generation = tables.table.capacity, tables.table.generation
        for index in range(500):
            tables.add_node(f"n{index}")
        assert (tables.table.capacity, tables.table.generation) == (capacity, generation)
        tables.table.reserve(400)
        assert (tables.table.capacity, tables.table.generation) == (capacity, generation), "there is room"
        tables.check()

    def test_nodes_get_the_same_rows_whether_room_was_made_or_not(self) -> None:
        reserved, grown = Tables(capacity=8), Tables(capacity=8)
        for tables in (reserved, grown):
            tables.add_node("first")
        reserved.table.reserve(100)
        for tables in (reserved, grown):
            for index in range(99):
                tables.add_node(f"n{index}")
        assert reserved.table.rows == grown.table.rows

    def test_room_for_one_more_is_room_for_several(self) -> None:
        tables = Tables(capacity=100)
        for index in range(100):
            tables.add_node(f"n{index}")
        tables.table.reserve(101)
        assert tables.table.capacity >= 125

    def test_rows_keep_their_numbers_and_everything_on_them(self) -> None:
        tables = Tables(capacity=2)
        row = tables.add_node(usual_node("n1").taint("gpu").image("web:v1", size=5))
        tables.add(make_pod("p").req(cpu="1").label("app", "x").host_port(80).pvc("data"), "n1")
        tables.add(make_pod("q").pod_affinity(HOSTNAME, {"app": "x"}), "n1")
        tables.add(make_pod("ghost").req(cpu="2"), "missing")
        for index in range(50):
            tables.add_node(f"more-{index}")
        info = tables.table.info(row)
        assert tables.table.row_of("n1") == row
        assert info.requested("cpu") == 1000
        assert info.pod_count == 2
        assert info.claim_users == {"default/data": 1}
        assert tables.table.rows["missing"] is not None
        tables.check()

    def test_columns_requested_before_are_replaced(self) -> None:
        tables = Tables(capacity=2)
        tables.add_node("n1")
        before = tables.table.allocatable("cpu"), tables.table.generation
        for index in range(3):
            tables.add_node(f"more-{index}")
        assert tables.table.generation != before[1]
        assert tables.table.allocatable("cpu") is not before[0]
        assert len(tables.table.allocatable("cpu").values) == tables.table.capacity
