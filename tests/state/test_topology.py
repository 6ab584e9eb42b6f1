# SPDX-License-Identifier: Apache-2.0
"""Topology domains: rows with equal label values share an id; hostnames make per-domain tables per-row columns."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from steersman.api import HOSTNAME_LABEL
from steersman.scheduler.state.topology import TopologyColumn

ZONE = "zone"
CAPACITY = 8


@pytest.fixture
def zones() -> TopologyColumn:
    return TopologyColumn(ZONE, np.zeros(CAPACITY, np.intp))


@pytest.fixture
def hosts() -> TopologyColumn:
    return TopologyColumn(HOSTNAME_LABEL, np.zeros(CAPACITY, np.intp))


class TestDomains:
    def test_rows_with_the_same_value_share_a_domain(self, zones: TopologyColumn) -> None:
        for row, value in enumerate(["a", "b", "a"]):
            zones.set(row, value)
        first, second, third = zones.domain[:3].tolist()
        assert first == third != second

    def test_a_row_without_the_label_is_in_domain_zero(self, zones: TopologyColumn) -> None:
        zones.set(0, "a")
        zones.set(0, None)
        assert zones.domain[0] == 0

    def test_an_empty_value_is_a_domain_like_any_other(self, zones: TopologyColumn) -> None:
        assert zones.empty_value == 0
        zones.set(0, "")
        assert zones.empty_value == zones.domain[0] != 0

    def test_a_cleared_row_is_in_no_domain(self, zones: TopologyColumn) -> None:
        zones.set(2, "a")
        zones.clear(2)
        assert zones.domain[2] == 0

    def test_setting_the_same_value_again_changes_nothing(self, zones: TopologyColumn) -> None:
        zones.set(0, "a")
        before = zones.domain.copy()
        zones.set(0, "a")
        assert (zones.domain == before).all()

    def test_the_id_of_a_vanished_domain_is_used_again(self, zones: TopologyColumn) -> None:
        for index in range(1000):
            zones.set(0, f"value-{index}")
        assert zones.size < 100

    def test_a_domain_keeps_its_id_while_any_row_is_in_it(self, zones: TopologyColumn) -> None:
        zones.set(0, "a")
        zones.set(1, "a")
        domain = int(zones.domain[1])
        zones.clear(0)
        zones.set(0, "b")
        assert zones.domain[1] == domain != zones.domain[0]

    def test_gathering_brings_a_per_domain_table_to_rows(self, zones: TopologyColumn) -> None:
        for row, value in enumerate(["a", "b", "a", None]):
            zones.set(row, value)
        table = np.arange(zones.size) * 10
        assert zones.gather(table)[:4].tolist() == [10 * domain for domain in zones.domain[:4].tolist()]


class TestGrowth:
    def test_tables_are_told_when_there_are_more_domains_than_they_have_room_for(self) -> None:
        column = TopologyColumn(ZONE, np.zeros(100, np.intp))
        table = Recorder()
        column.on_grow(table.grow)
        for row in range(100):
            column.set(row, f"zone-{row}")
        assert table.sizes
        assert table.sizes[-1] == column.size > int(column.domain.max())

    def test_an_unused_table_is_not_kept_alive(self) -> None:
        column = TopologyColumn(ZONE, np.zeros(100, np.intp))
        column.on_grow(Recorder().grow)
        gc.collect()
        for row in range(100):
            column.set(row, f"zone-{row}")
        assert column._on_grow == []


class Recorder:
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def grow(self, size: int) -> None:
        self.sizes.append(size)


class TestHostnames:
    def test_every_node_with_its_own_hostname_makes_one_row_per_domain(self, hosts: TopologyColumn) -> None:
        for row in range(4):
            hosts.set(row, f"n{row}")
        assert hosts.one_row_per_domain
        assert hosts.domain[:4].tolist() == [1, 2, 3, 4]

    def test_a_table_by_hostname_is_then_a_column_without_copying(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "n0")
        table = np.arange(hosts.size)
        assert np.shares_memory(hosts.gather(table), table)
        assert hosts.gather(table)[0] == 1
        assert len(hosts.gather(table)) == CAPACITY

    def test_without_any_node_there_is_trivially_one_row_per_domain(self, hosts: TopologyColumn) -> None:
        assert hosts.one_row_per_domain

    def test_a_missing_hostname_ends_it(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "n0")
        hosts.set(1, None)
        assert not hosts.one_row_per_domain
        assert hosts.domain[1] == 0

    def test_a_repeated_hostname_ends_it_and_puts_both_rows_into_one_domain(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "same")
        hosts.set(1, "same")
        assert not hosts.one_row_per_domain
        assert hosts.domain[0] == hosts.domain[1]

    def test_it_is_restored_when_the_offending_node_goes(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "same")
        hosts.set(1, "same")
        hosts.clear(1)
        assert hosts.one_row_per_domain

    def test_it_is_restored_when_the_offending_node_gets_a_hostname_of_its_own(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "same")
        hosts.set(1, "same")
        hosts.set(1, "own")
        assert hosts.one_row_per_domain

    def test_a_changed_hostname_keeps_one_row_per_domain(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "before")
        hosts.set(0, "after")
        assert hosts.one_row_per_domain
        assert hosts.domain[0] == 1

    def test_a_row_that_is_used_again_by_another_node_keeps_it_too(self, hosts: TopologyColumn) -> None:
        hosts.set(3, "gone")
        hosts.clear(3)
        hosts.set(3, "new")
        assert hosts.one_row_per_domain
        assert hosts.domain[3] == 4

    def test_a_hostname_that_comes_back_on_another_row_gets_that_row(self, hosts: TopologyColumn) -> None:
        hosts.set(3, "moving")
        hosts.clear(3)
        hosts.set(5, "moving")
        assert hosts.one_row_per_domain
        assert hosts.domain[5] == 6

    def test_a_row_whose_id_is_held_by_another_row_gets_a_fresh_one(self, hosts: TopologyColumn) -> None:
        hosts.set(0, "shared")
        hosts.set(1, "shared")
        hosts.set(0, "own")
        assert hosts.domain[1] == 1
        assert hosts.domain[0] > CAPACITY
        assert not hosts.one_row_per_domain
        assert hosts.size > int(hosts.domain.max())

    def test_other_topology_keys_never_claim_one_row_per_domain(self, zones: TopologyColumn) -> None:
        zones.set(0, "a")
        assert not zones.one_row_per_domain

    def test_tables_that_come_and_go_leave_nothing_behind(self) -> None:
        column = TopologyColumn(ZONE, np.zeros(100, np.intp))
        for _ in range(200):
            column.on_grow(Recorder().grow)
        assert len(column._on_grow) <= 16


class TestKeysThatNoNodeHas:
    def test_their_columns_share_one_array(self) -> None:
        nowhere = np.zeros(CAPACITY, np.intp)
        columns = [TopologyColumn(f"key-{index}", nowhere) for index in range(2)]
        for column in columns:
            column.set(0, None)
        assert columns[0].domain is columns[1].domain

    def test_the_first_label_gives_a_column_an_array_of_its_own(self) -> None:
        nowhere = np.zeros(CAPACITY, np.intp)
        first, other = (TopologyColumn(f"key-{index}", nowhere) for index in range(2))
        first.set(3, "a")
        assert first.domain[3] == first.cell[3] == 1
        assert not other.domain.any()
