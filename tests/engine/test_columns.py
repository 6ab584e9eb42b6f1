# SPDX-License-Identifier: Apache-2.0
"""Columns of kernel answers that catch up with the log of changed rows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.kernels import Broken, CountedFromOutside, MostPods, PodCount, Schedulable
from tests.state.tables import Tables, usual_node

from steersman.framework.columns import FilterKernel
from steersman.scheduler.engine.columns import MAX_SINGLE_ROWS, FragmentColumn
from steersman.testing import make_pod


def many_nodes(count: int) -> Tables:
    tables = Tables(capacity=count)
    for index in range(count):
        tables.add_node(f"n{index}")
    return tables


def test_a_new_column_is_exact() -> None:
    tables = many_nodes(3)
    tables.add(make_pod("p"), "n1")
    column = FragmentColumn[FilterKernel](MostPods(tables.table, 1), tables.table)
    assert column.values.tolist() == [0, 1, 0]


def test_only_changed_rows_are_requested_again() -> None:
    tables = many_nodes(8)
    kernel = MostPods(tables.table, 1)
    column = FragmentColumn(kernel, tables.table)
    tables.add(make_pod("p"), "n2")
    tables.add(make_pod("q"), "n2")
    column.sync()
    assert kernel.asked == [2]
    assert column.values.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    column.sync()
    assert kernel.asked == [2], "nothing has changed since"


def test_a_kernel_that_depends_on_nodes_is_not_bothered_with_pods() -> None:
    tables = many_nodes(8)
    kernel = Schedulable(tables.table)
    column = FragmentColumn(kernel, tables.table)
    tables.add(make_pod("p"), "n2")
    column.sync()
    assert kernel.asked == []
    tables.add_node(usual_node("n3").unschedulable())
    column.sync()
    assert kernel.asked == [3]
    assert column.values[3] == 1


def test_many_changed_rows_are_requested_at_once() -> None:
    tables = many_nodes(4 * MAX_SINGLE_ROWS)
    kernel = MostPods(tables.table, 1)
    column = FragmentColumn(kernel, tables.table)
    for index in range(MAX_SINGLE_ROWS + 1):
        tables.add(make_pod(f"p{index}"), f"n{index}")
    column.sync()
    assert kernel.asked == []
    assert kernel.asked_for_many == 2
    assert column.values.tolist() == [1] * (MAX_SINGLE_ROWS + 1) + [0] * (3 * MAX_SINGLE_ROWS - 1)


def test_when_most_rows_changed_everything_is_requested_again() -> None:
    tables = many_nodes(4)
    kernel = MostPods(tables.table, 1)
    column = FragmentColumn(kernel, tables.table)
    for index in range(3):
        tables.add(make_pod(f"p{index}"), f"n{index}")
    column.sync()
    assert kernel.asked == []
    assert column.values.tolist() == [1, 1, 1, 0]


def test_a_column_that_fell_too_far_behind_starts_afresh() -> None:
    tables = many_nodes(8)
    column = FragmentColumn[FilterKernel](MostPods(tables.table, 1), tables.table)
    pod = tables.add(make_pod("p"), "n5")
    tables.table.log._limit = 4
    for _ in range(6):
        tables.table.remove_pod(pod, "n5")
        tables.table.add_pod(pod, "n5")
    column.sync()
    assert column.values.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]


def test_rows_without_a_node_are_not_requested() -> None:
    tables = many_nodes(8)
    kernel = MostPods(tables.table, 1)
    column = FragmentColumn(kernel, tables.table)
    tables.table.remove_node("n2")
    column.sync()
    assert kernel.asked == []


def test_a_new_epoch_recomputes_all_rows() -> None:
    tables = many_nodes(3)
    kernel = CountedFromOutside(tables.table)
    column = FragmentColumn(kernel, tables.table)
    kernel.number = 5
    column.sync()
    assert column.values.tolist() == [5, 5, 5]


def test_a_kernel_may_answer_with_a_column_of_the_table() -> None:
    tables = many_nodes(8)
    column = FragmentColumn(PodCount(tables.table), tables.table)
    assert not np.shares_memory(column.values, tables.table.pod_count.values)
    column.values[0] = 99
    assert tables.table.pod_count.values[0] == 0


def test_a_kernel_that_raised_is_asked_again() -> None:
    tables = many_nodes(8)
    kernel = Broken(tables.table)
    column = FragmentColumn(kernel, tables.table)
    tables.add(make_pod("p"), "n1")
    kernel.raises = True
    with pytest.raises(RuntimeError):
        column.sync()
    kernel.raises = False
    column.sync()
    assert column.values[1] == 1


@pytest.mark.parametrize("as_array", [False, True])
def test_callers_may_pass_the_changed_rows(as_array: bool) -> None:
    tables = many_nodes(8)
    column = FragmentColumn(MostPods(tables.table, 1), tables.table)
    position = column.position
    tables.add(make_pod("p"), "n2")
    tables.add(make_pod("q"), "n5")
    column.follow(position, np.array([2, 5]) if as_array else {2, 5})
    assert column.values.tolist() == [0, 0, 1, 0, 0, 1, 0, 0]
    assert column.position == tables.table.log.end


def test_a_column_that_is_further_behind_looks_for_itself() -> None:
    tables = many_nodes(8)
    column = FragmentColumn(MostPods(tables.table, 1), tables.table)
    tables.add(make_pod("p"), "n2")
    position = tables.table.log.end
    tables.add(make_pod("q"), "n5")
    column.follow(position, {5})
    assert column.values.tolist() == [0, 0, 1, 0, 0, 1, 0, 0]
