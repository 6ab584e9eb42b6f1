# SPDX-License-Identifier: Apache-2.0
"""Rows of one class have equal amounts, and a kernel's result for one of them is that of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steersman import Simulation, api
from steersman.base.change_log import ChangeLog
from steersman.framework import ALL_ROWS, Column
from steersman.scheduler.engine.columns import FragmentColumn
from steersman.scheduler.state import row_classes
from steersman.scheduler.state.resource_columns import zeros
from steersman.scheduler.state.row_classes import RowClasses
from steersman.testing import make_node, make_pod

ROWS = 64
changes = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.integers(0, ROWS - 1), st.integers(0, 2)),
        st.tuples(st.just("look"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


def check(classes: RowClasses, columns: list[Column]) -> bool:
    found = classes.current()
    if found is None:
        return False
    members, class_of = found
    for column in columns:
        assert np.array_equal(column.values[members[class_of]], column.values)
    return True


@given(changes)
def test_rows_of_a_class_are_equal_whatever_changes(steps: list[tuple[str, int, int]]) -> None:
    columns, log = [zeros(ROWS), zeros(ROWS)], ChangeLog[int]()
    classes = RowClasses(columns, log)
    check(classes, columns)
    for what, row, amount in steps:
        if what == "look":
            check(classes, columns)
        else:
            columns[row % 2].cell[row] = amount
            log.append(row)
    check(classes, columns)


def test_there_are_no_classes_while_most_rows_differ() -> None:
    columns, log = [zeros(ROWS)], ChangeLog[int]()
    classes = RowClasses(columns, log)
    columns[0].values[:] = np.arange(ROWS)
    assert not check(classes, columns)
    columns[0].values[:] = 0
    for row in range(ROWS - 1):
        log.append(row)
    assert not check(classes, columns), "that would be looked for again and again"
    log.append(0)
    assert check(classes, columns)


def test_different_amounts_with_equal_hashes_are_different_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_classes, "_hashes", lambda columns: np.zeros(len(columns[0]), np.int64))
    columns = [zeros(ROWS), zeros(ROWS)]
    columns[0].values[:] = np.arange(ROWS) % 2
    columns[1].values[:] = np.arange(ROWS) % 3
    assert check(RowClasses(columns, ChangeLog[int]()), columns)


@pytest.mark.parametrize(
    "pod",
    [
        make_pod().req(cpu="1", memory="1Gi"),
        make_pod().req(cpu="3"),
        make_pod(),
        make_pod().req(cpu="1", **{"example.com/gpu": "1"}),
        make_pod().req(cpu="100"),
    ],
)
def test_a_kernel_says_of_a_class_what_it_says_of_every_row(pod: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_classes, "MIN_ROWS", 0)
    nodes = [
        make_node(f"n{i}").capacity(cpu=str(4 + i % 3), memory="8Gi", pods=5, **{"example.com/gpu": str(i % 2)}).obj()
        for i in range(120)
    ]
    running = [make_pod(f"r{i}").req(cpu="1").node(f"n{i * 7 % 30}").obj() for i in range(60)]
    scheduler = Simulation.load(nodes, running).scheduler
    table, used = scheduler.cache.nodes, 0
    for index in range(3):
        made: api.Pod = pod.name(f"new-{index}").obj()  # type: ignore[attr-defined]
        info = scheduler.cache.shapes.info(made)
        entry = scheduler.cycle._engines[info.scheduler_name].signatures.get(info)
        totals = entry.signature.row_totals
        parts = [*totals._local_filters, *(part.column for part in totals._local_scores)]
        for part in parts:
            assert isinstance(part, FragmentColumn)
            fresh = FragmentColumn(part.kernel, table)
            expected = np.asarray(part.kernel.rows(ALL_ROWS))
            assert np.array_equal(fresh.values[table.alive], expected[table.alive])
            used += part.kernel.reads_only_amounts
        scheduler.ingest.changed(make_pod(f"more-{index}").req(cpu="1").node(f"n{index}").obj())
    assert used
    assert table.row_classes() is not None
