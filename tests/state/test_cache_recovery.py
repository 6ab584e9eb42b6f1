# SPDX-License-Identifier: Apache-2.0
"""A change that breaks off in the middle leaves a valid cache without the pod or node."""

from __future__ import annotations

import pytest
from tests.state.caches import Caches
from tests.state.tables import usual_node

from steersman import api
from steersman.base.errors import InputError
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import PodBuilder, make_node, make_pod


class Torn(RuntimeError):
    """Stands for a programming error."""


def tripping(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="1").label("trip", "yes").host_port(80).anti_affinity("zone", {"app": "web"})


@pytest.fixture
def caches(monkeypatch: pytest.MonkeyPatch) -> Caches:
    """Columns break off for pods and nodes with the label `trip`, after they have been written."""
    charge, write = NodeTable._apply_pod, NodeTable._write_node

    def torn_charge(self: NodeTable, pod: PodInfo, row: int, sign: int) -> None:
        charge(self, pod, row, sign)
        if "trip" in pod.labels:
            raise Torn

    def torn_write(self: NodeTable, row: int, old: api.Node | None, node: api.Node, amounts: dict[str, int]) -> None:
        write(self, row, old, node, amounts)
        if "trip" in node.metadata.labels:
            raise Torn

    made = Caches()
    for name in ("n1", "n2"):
        made.cache.set_node(usual_node(name).label("zone", "z").obj())
    made.cache.add_pod(make_pod("web").label("app", "web").req(cpu="2").node("n1").obj())
    made.assume(make_pod("assumed").req(cpu="3"), "n2")
    monkeypatch.setattr(NodeTable, "_apply_pod", torn_charge)
    monkeypatch.setattr(NodeTable, "_write_node", torn_write)
    return made


def expect_whole(caches: Caches) -> None:
    caches.cache.validate_state()
    assert (caches.requested("n1"), caches.requested("n2")) == (2000, 3000)
    assert sorted(record.info.name for record in caches.cache.pods()) == ["assumed", "web"]
    assert caches.cache.assumed_count == 1


def test_a_pod_that_cannot_be_added_is_not_there(caches: Caches) -> None:
    with pytest.raises(Torn):
        caches.cache.add_pod(tripping("p").node("n1").obj())
    expect_whole(caches)


def test_a_pod_that_cannot_be_assumed_is_not_there(caches: Caches) -> None:
    with pytest.raises(Torn):
        caches.assume(tripping("p"), "n1")
    expect_whole(caches)


def test_a_pod_that_cannot_be_updated_is_not_there(caches: Caches) -> None:
    before = make_pod("p").req(cpu="1").node("n1").obj()
    caches.cache.add_pod(before)
    with pytest.raises(Torn):
        caches.cache.update_pod(tripping("p").uid(before.metadata.uid).node("n2").obj())
    expect_whole(caches)


def test_a_node_that_cannot_be_written_is_not_there(caches: Caches) -> None:
    with pytest.raises(Torn):
        caches.cache.set_node(make_node("n3").capacity(cpu="4").label("trip", "yes").obj())
    expect_whole(caches)
    assert caches.cache.nodes.row_of("n3") is None
    with pytest.raises(Torn):
        caches.cache.set_node(usual_node("n1").label("trip", "yes").obj())
    assert caches.cache.nodes.row_of("n1") is None
    assert caches.cache.nodes.node_count == 1
    caches.cache.set_node(usual_node("n1").label("zone", "z").obj())
    expect_whole(caches)


def test_rows_that_readers_follow_are_all_dirty_afterwards(caches: Caches) -> None:
    table = caches.cache.nodes
    generation, position = table.generation, table.log.end
    with pytest.raises(Torn):
        caches.cache.add_pod(tripping("p").node("n1").obj())
    assert table.generation > generation
    assert set(range(table.capacity)) <= set(table.log.since(position) or range(table.capacity))


def test_an_amount_that_cannot_be_read_changes_nothing(caches: Caches) -> None:
    generation = caches.cache.nodes.generation
    with pytest.raises(InputError):
        caches.cache.set_node(make_node("n3").capacity(cpu="lots").obj())
    with pytest.raises(InputError):
        caches.cache.add_pod(make_pod("p").req(cpu="lots").node("n1").obj())
    assumed = caches.cache.shapes.info(make_pod("assumed").req(cpu="3").obj())
    with pytest.raises(InputError):
        caches.cache.add_pod(make_pod("assumed").uid(assumed.uid).req(cpu="lots").node("n2").obj())
    assert caches.cache.is_assumed(assumed.uid)
    assert "n3" not in caches.cache.nodes.rows
    assert caches.cache.nodes.generation == generation
    expect_whole(caches)
