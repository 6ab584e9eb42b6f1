# SPDX-License-Identifier: Apache-2.0
"""Feasible rows and totals of a signature stay exact, however they are brought up to date."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.engine.kernels import Banned, CountedFromOutside, Favourite, MostPods, PodCount, Schedulable, TaintCount
from tests.equivalence.examples import examples
from tests.state.tables import Tables, usual_node

from steersman.framework.columns import (
    ClusterFilterKernel,
    ClusterScoreKernel,
    FilterKernel,
    Normalize,
    ScoreKernel,
)
from steersman.scheduler.engine.columns import MAX_SCORE, FragmentColumn, WeightedColumn, normalise
from steersman.scheduler.engine.row_totals import RowTotals
from steersman.scheduler.engine.signature import Signature
from steersman.testing import make_pod


def signature(
    tables: Tables,
    filters: tuple[FilterKernel, ...] = (),
    scores: tuple[tuple[int, ScoreKernel], ...] = (),
    cluster_filters: tuple[ClusterFilterKernel, ...] = (),
    cluster_scores: tuple[tuple[int, ClusterScoreKernel], ...] = (),
) -> Signature:
    table = tables.table
    totals = RowTotals(
        table,
        [FragmentColumn(kernel, table) for kernel in filters],
        list(cluster_filters),
        [WeightedColumn(FragmentColumn(kernel, table), weight) for weight, kernel in scores],
        list(cluster_scores),
        wide=False,
    )
    return Signature(totals)


def three_nodes() -> Tables:
    tables = Tables()
    for name in ("n0", "n1", "n2"):
        tables.add_node(name)
    return tables


def feasible(tables: Tables, signed: Signature) -> set[str]:
    return {tables.table.names[row] for row in signed.feasible().rows.tolist()}


def totals(tables: Tables, signed: Signature) -> dict[str, int]:
    passing = signed.feasible()
    total = signed.totals(passing)
    return {tables.table.names[row]: int(total[row]) for row in passing.rows.tolist()}


class TestFeasible:
    def test_rows_without_a_node_are_not_feasible(self) -> None:
        tables = three_nodes()
        signed = signature(tables)
        assert feasible(tables, signed) == {"n0", "n1", "n2"}
        tables.table.remove_node("n1")
        assert feasible(tables, signed) == {"n0", "n2"}
        assert signed.feasible().count == 2

    def test_every_filter_must_pass(self) -> None:
        tables = three_nodes()
        signed = signature(tables, (MostPods(tables.table, 1), Schedulable(tables.table)))
        tables.add(make_pod("p"), "n0")
        tables.add_node(usual_node("n1").unschedulable())
        assert feasible(tables, signed) == {"n2"}

    def test_a_row_becomes_feasible_again(self) -> None:
        tables = three_nodes()
        signed = signature(tables, (MostPods(tables.table, 1),))
        pod = tables.add(make_pod("p"), "n0")
        assert feasible(tables, signed) == {"n1", "n2"}
        tables.table.remove_pod(pod, "n0")
        assert feasible(tables, signed) == {"n0", "n1", "n2"}

    def test_excluded_rows_are_left_out(self) -> None:
        tables = three_nodes()
        signed = signature(tables)
        excluded = tables.table.unschedulable.copy()
        excluded[0] = True
        passing = signed.feasible(excluded)
        assert passing.rows.tolist() == [1, 2]
        assert passing.count == 2
        assert signed.feasible().count == 3, "only for this question"

    def test_cluster_filters_are_asked_every_time(self) -> None:
        tables = three_nodes()
        banned = Banned(tables.table)
        signed = signature(tables, cluster_filters=(banned,))
        assert feasible(tables, signed) == {"n0", "n1", "n2"}
        banned.banned = 1
        assert feasible(tables, signed) == {"n0", "n2"}

    def test_rows_can_be_taken_from_what_is_feasible(self) -> None:
        tables = three_nodes()
        signed = signature(tables)
        lost = tables.table.unschedulable.copy()
        lost[2] = True
        rest = signed.without(lost, signed.feasible())
        assert rest.rows.tolist() == [0, 1]
        assert rest.mask[:3].tolist() == [True, True, False]


class TestTotals:
    def test_scores_are_weighted_and_added_up(self) -> None:
        tables = three_nodes()
        outside = CountedFromOutside(tables.table)
        signed = signature(tables, scores=((3, PodCount(tables.table)), (2, outside)))
        tables.add(make_pod("p"), "n1")
        assert totals(tables, signed) == {"n0": 0, "n1": 3, "n2": 0}
        outside.number = 5
        tables.add_node(usual_node("n2").label("disk", "ssd"))
        assert totals(tables, signed) == {"n0": 10, "n1": 13, "n2": 10}

    def test_infeasible_rows_are_far_below_all_others(self) -> None:
        tables = three_nodes()
        signed = signature(tables, (MostPods(tables.table, 1),), ((1, PodCount(tables.table)),))
        tables.add(make_pod("p"), "n1")
        total = signed.totals(signed.feasible())
        assert int(total[1]) < -MAX_SCORE
        assert int(total.argmax()) in (0, 2)

    def test_cluster_scores_come_on_top_unless_they_are_skipped(self) -> None:
        tables = three_nodes()
        favourite = Favourite(tables.table)
        signed = signature(tables, scores=((1, PodCount(tables.table)),), cluster_scores=((2, favourite),))
        assert totals(tables, signed) == {"n0": 0, "n1": 0, "n2": 0}
        favourite.row = 2
        assert totals(tables, signed) == {"n0": 0, "n1": 0, "n2": 20}
        favourite.row = None
        assert totals(tables, signed) == {"n0": 0, "n1": 0, "n2": 0}

    def test_normalised_scores_are_relative_to_the_greatest_feasible_one(self) -> None:
        tables = three_nodes()
        tables.add_node(usual_node("n1").taint("a"))
        tables.add_node(usual_node("n2").taint("a").taint("b").taint("c").taint("d"))
        signed = signature(
            tables, (MostPods(tables.table, 1),), ((1, TaintCount(tables.table, Normalize.DEFAULT_REVERSE)),)
        )
        assert totals(tables, signed) == {"n0": 100, "n1": 75, "n2": 0}
        tables.add(make_pod("p"), "n2")
        assert totals(tables, signed) == {"n0": 100, "n1": 0}, "the greatest is no longer feasible"

    def test_excluded_rows_do_not_count_for_normalisation(self) -> None:
        tables = three_nodes()
        tables.add_node(usual_node("n1").taint("a"))
        tables.add_node(usual_node("n2").taint("a").taint("b"))
        signed = signature(tables, scores=((1, TaintCount(tables.table, Normalize.DEFAULT)),))
        excluded = tables.table.unschedulable.copy()
        excluded[2] = True
        passing = signed.feasible(excluded)
        assert signed.totals(passing)[:2].tolist() == [0, 100]

    def test_scores_that_are_zero_everywhere_normalise_to_a_constant(self) -> None:
        tables = three_nodes()
        kernel = TaintCount(tables.table, Normalize.DEFAULT_REVERSE)
        signed = signature(tables, scores=((2, kernel),))
        assert totals(tables, signed) == {"n0": 200, "n1": 200, "n2": 200}
        tables.add_node(usual_node("n1").taint("a"))
        assert totals(tables, signed) == {"n0": 200, "n1": 0, "n2": 200}


@pytest.mark.parametrize(
    ("how", "greatest", "expected"),
    [
        (Normalize.NONE, 7, [0, 3, 7]),
        (Normalize.DEFAULT, 7, [0, 42, 100]),
        (Normalize.DEFAULT_REVERSE, 7, [100, 58, 0]),
    ],
)
def test_normalising(how: Normalize, greatest: int, expected: list[int]) -> None:
    tables = three_nodes()
    raw = tables.table.pod_count.values[:3]
    raw[:] = [0, 3, 7]
    assert normalise(raw, greatest, how).tolist() == expected


def test_normalising_nothing_but_zeros() -> None:
    raw = three_nodes().table.pod_count.values[:3]
    assert normalise(raw, 0, Normalize.DEFAULT).tolist() == [0, 0, 0]
    assert normalise(raw, 0, Normalize.DEFAULT_REVERSE).tolist() == [100, 100, 100]


steps = st.tuples(st.sampled_from(["pod", "drop", "taint", "cordon", "plain", "remove", "outside"]), st.integers(0, 5))


@examples(60)
@given(st.lists(steps, max_size=25))
def test_a_signature_kept_since_the_beginning_equals_a_fresh_one(story: list[tuple[str, int]]) -> None:
    tables = three_nodes()
    outside = CountedFromOutside(tables.table)

    def made() -> Signature:
        table = tables.table
        return signature(
            tables,
            (MostPods(table, 3), Schedulable(table)),
            (
                (1, PodCount(table)),
                (2, TaintCount(table, Normalize.DEFAULT_REVERSE)),
                (3, PodCount(table, Normalize.DEFAULT)),
                (1, outside),
            ),
        )

    kept = made()
    for number, (what, index) in enumerate(story):
        happen(tables, outside, what, f"n{index}", number)
        fresh = made()
        assert feasible(tables, kept) == feasible(tables, fresh)
        assert totals(tables, kept) == totals(tables, fresh)


@examples(60)
@given(st.lists(steps, max_size=25), st.lists(st.booleans(), min_size=25, max_size=25))
def test_a_row_asked_alone_is_as_feasible_as_among_all(story: list[tuple[str, int]], looks: list[bool]) -> None:
    """Whether or not the other rows were brought up to date in between."""
    tables = three_nodes()
    table, outside, banned = tables.table, CountedFromOutside(tables.table), Banned(tables.table)
    filters = (MostPods(table, 3), Schedulable(table))
    alone, among_all = (signature(tables, filters, ((1, PodCount(table)),), (banned,)) for _ in range(2))
    for number, ((what, index), look) in enumerate(zip(story, looks, strict=False)):
        happen(tables, outside, what, f"n{index}", number)
        banned.banned = number % 5
        expected = {table.names[row] for row in table.live_rows() if alone.is_feasible(row)}
        assert expected == feasible(tables, among_all)
        if look:
            assert feasible(tables, alone) == expected


def happen(tables: Tables, outside: CountedFromOutside, what: str, name: str, number: int) -> None:
    table = tables.table
    if what == "pod":
        tables.add(make_pod(f"p{number}"), name)
    elif what == "drop" and table.rows.get(name) is not None and table.pods_on[table.rows[name]]:
        table.remove_pod(next(iter(table.pods_on[table.rows[name]].values())), name)
    elif what == "remove" and table.row_of(name) is not None:
        table.remove_node(name)
    elif what == "outside":
        outside.number += 1
        tables.add_node(usual_node("n0").label("number", str(outside.number)))
    elif what in ("taint", "cordon", "plain"):
        node = usual_node(name)
        tables.add_node({"taint": node.taint("a"), "cordon": node.unschedulable(), "plain": node}[what])
