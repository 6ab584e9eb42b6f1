# SPDX-License-Identifier: Apache-2.0
"""What the columns say of nodes and of the pods on them."""

from __future__ import annotations

from tests.state.tables import ZONE, Tables, cells, usual_node

from steersman.testing import make_node, make_pod

GPU = "example.com/gpu"


def test_requests_of_any_resource_add_up() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    tables.add(make_pod("a").req(cpu="1", memory="1Gi", **{GPU: 2}), "n1")
    tables.add(make_pod("b").req(cpu="500m"), "n1")
    table = tables.table
    assert cells(table.requested("cpu"), row) == [1500]
    assert cells(table.requested("memory"), row) == [1 << 30]
    assert cells(table.requested(GPU), row) == [2]
    assert cells(table.pod_count, row) == [2]
    tables.check()


def test_pods_without_requests_count_with_the_scoring_minimum() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    tables.add(make_pod("a").container(), "n1")
    assert cells(tables.table.nonzero_requested("cpu"), row) == [100]
    assert cells(tables.table.nonzero_requested("memory"), row) == [200 << 20]
    assert cells(tables.table.requested("cpu"), row) == [0]


def test_a_removed_pod_leaves_nothing_behind() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    pod = tables.add(make_pod("a").req(cpu="1", **{GPU: 1}).host_port(80).pvc("data"), "n1")
    tables.table.remove_pod(pod, "n1")
    table = tables.table
    assert cells(table.requested("cpu"), row) == cells(table.requested(GPU), row) == cells(table.pod_count, row) == [0]
    assert not table.sparse.used_ports
    assert not table.sparse.claim_users
    tables.check()


def test_allocatable_follows_the_node() -> None:
    tables = Tables()
    row = tables.add_node(make_node("n1").capacity(cpu="2", pods=10, **{GPU: 4}))
    assert cells(tables.table.allocatable("cpu"), row) == [2000]
    assert cells(tables.table.allocatable(GPU), row) == [4]
    assert cells(tables.table.allowed_pods, row) == [10]
    tables.add_node(make_node("n1").capacity(cpu="3", pods=5))
    assert cells(tables.table.allocatable("cpu"), row) == [3000]
    assert cells(tables.table.allocatable(GPU), row) == [0]
    assert cells(tables.table.allowed_pods, row) == [5]
    tables.check()


def test_a_resource_requested_late_has_what_the_nodes_offer() -> None:
    tables = Tables()
    row = tables.add_node(make_node("n1").capacity(**{GPU: 4}))
    assert cells(tables.table.allocatable(GPU), row) == [4]
    assert cells(tables.table.allocatable("example.com/none"), row) == [0]


def test_the_memoryview_of_a_column_is_the_same_memory() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    column = tables.table.requested("cpu")
    column.cell[row] = 7
    assert column.values[row] == 7


def test_equal_taints_share_a_set_whenever_they_were_added() -> None:
    tables = Tables()
    rows = [tables.add_node(usual_node(name).taint("gpu", "yes")) for name in ("n1", "n2")]
    plain = tables.add_node("n3")
    taints = tables.table.taints
    assert taints.ids[rows[0]] == taints.ids[rows[1]] != taints.ids[plain]
    assert [taint.key for taint in taints.sets[taints.ids[rows[0]]]] == ["gpu"]
    assert taints.sets[taints.ids[plain]] == ()
    tables.check()


def test_a_host_port_is_free_once_one_of_its_users_has_gone() -> None:
    tables = Tables()
    row = tables.add_node("n1")
    first = tables.add(make_pod("a").host_port(80), "n1")
    tables.add(make_pod("b").host_port(80).host_port(443, protocol="UDP"), "n1")
    assert tables.table.rows_with_ports.keys() == {row}
    assert tables.table.info(row).used_ports == {("0.0.0.0", "TCP", 80), ("0.0.0.0", "UDP", 443)}
    tables.table.remove_pod(first, "n1")
    assert tables.table.info(row).used_ports == {("0.0.0.0", "UDP", 443)}
    tables.check()


def test_a_topology_requested_late_knows_the_nodes_that_are_there() -> None:
    tables = Tables()
    rows = [tables.add_node(usual_node(f"n{zone}", zone)) for zone in ("a", "b")]
    bare = tables.add_node(make_node("bare"))
    domain = tables.table.topology(ZONE).domain
    assert domain[rows[0]] != domain[rows[1]]
    assert domain[bare] == 0
    tables.check()


def test_labels_of_pods_that_selectors_refer_to_are_known() -> None:
    tables = Tables()
    tables.add_node("n1")
    before = tables.table.label_keys.version
    tables.add(make_pod("a").anti_affinity(ZONE, {"app": "x"}), "n1")
    assert tables.table.label_keys.keys() == {"app"}
    assert tables.table.label_keys.version != before
