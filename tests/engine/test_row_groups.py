# SPDX-License-Identifier: Apache-2.0
"""The best rows by groups are those that columns give, whatever changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from steersman.base.change_log import ChangeLog
from steersman.framework.columns import Feasible, GroupingFilterKernel, GroupingScoreKernel, RowFeature
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn, IntColumn, ReasonColumn
from steersman.scheduler.engine.columns import MAX_SINGLE_ROWS
from steersman.scheduler.engine.row_groups import MAX_GROUPS, GroupedBest, MergedRows, _codes

ROWS = 12
rows = st.integers(0, ROWS - 1)
numbers = st.integers(0, 3)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("total"), rows, st.sampled_from([-1000, 0, 3, 4, 5])),
        st.tuples(st.just("zone"), rows, numbers),
        st.tuples(st.just("pods"), rows, numbers),
        st.tuples(st.just("most"), rows, numbers),
        st.tuples(st.just("look"), rows, st.just(0)),
    ),
    max_size=60,
)


class MostInZone(GroupingFilterKernel):
    """Rejects rows of zones above a number."""

    def __init__(self, zones: IntColumn) -> None:
        self.zones = zones
        self.most = 3

    def skipped(self) -> bool:
        return False

    def rejected(self) -> BoolColumn:
        rejected: BoolColumn = self.zones > self.most
        return rejected

    def reasons(self) -> ReasonColumn:
        return self.rejected().astype(np.int32)

    def features(self) -> Sequence[RowFeature]:
        return [feature(self.zones)]

    def rejected_groups(self, groups: Sequence[tuple[int, ...]]) -> Sequence[bool]:
        return [zone > self.most for (zone,) in groups]


class PodsAndZone(GroupingScoreKernel):
    """Scores by the pods on a row, its zone, and how many rows are feasible."""

    def __init__(self, pods: IntColumn, zones: IntColumn) -> None:
        self.pods, self.zones = pods, zones

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        score: IntColumn = self.pods * 2 + self.zones + feasible.count
        return score

    def normalized(self, feasible: Feasible) -> AnyIntColumn:
        return self.raw(feasible)

    def features(self) -> Sequence[RowFeature] | None:
        return [feature(self.pods), feature(self.zones)]

    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> Sequence[int]:
        return [pods * 2 + zone + sum(counts) for pods, zone in groups]


class NeverAlike(PodsAndZone):
    def features(self) -> None:
        return None


def feature(column: IntColumn) -> RowFeature:
    return RowFeature(lambda: column, lambda row: int(column[row]), follows_pods=True)


def by_columns(total: AnyIntColumn, only: MostInZone, liked: PodsAndZone) -> tuple[list[int], int]:
    penalty = np.where(only.rejected() | (total < 0), -1000, 0)
    count = int(np.count_nonzero(penalty == 0))
    if not count:
        return [], 0
    sums = total + penalty + 2 * liked.normalized(Feasible(penalty, count))
    sums[penalty < 0] = -1000
    return (sums == sums.max()).nonzero()[0].tolist(), count


@given(st.lists(st.sampled_from([-1000, 0, 1, 5]), min_size=ROWS, max_size=ROWS), changes)
def test_they_follow_totals_features_and_verdicts(start: list[int], story: list[tuple[str, int, int]]) -> None:
    total, log = np.array(start, np.int32), ChangeLog[int]()
    zones, pods = np.arange(ROWS) % 3, np.zeros(ROWS, np.int64)
    only, liked = MostInZone(zones), PodsAndZone(pods, zones)
    grouped = GroupedBest([only], [(2, liked)])
    assert grouped.find(total, log) is None, "the first time it is not known whether others come"
    columns: dict[str, AnyIntColumn] = {"total": total, "zone": zones, "pods": pods}
    for what, row, value in (*story, ("look", 0, 0)):
        if what == "most":
            only.most = value
        elif what in columns:
            columns[what][row] = value
            log.append(row)
        else:
            found = grouped.find(total, log)
            if found is None:
                found = grouped.find(total, log)
            assert found is not None
            assert (list(found[0]), found[1]) == by_columns(total, only, liked)


@given(st.lists(st.sets(st.integers(0, 400), min_size=1), min_size=2, max_size=5))
def test_merged_rows_are_the_rows_of_all_groups_ascending(groups: list[set[int]]) -> None:
    apart = [sorted(group - set().union(*groups[:index])) for index, group in enumerate(groups)]
    merged = MergedRows([group for group in apart if group])
    assert list(merged) == sorted(set().union(*groups))
    with pytest.raises(IndexError):
        merged[len(merged)]


def two_looks(grouped: GroupedBest, total: AnyIntColumn, log: ChangeLog[int]) -> list[bool]:
    """Whether the best rows were found by groups."""
    return [grouped.find(total, log) is not None for _ in range(2)]


def test_single_questions_make_no_groups() -> None:
    total, log, pods = np.zeros(100, np.int32), ChangeLog[int](), np.zeros(100, np.int64)
    grouped = GroupedBest([], [(1, PodsAndZone(pods, pods))])
    for _ in range(3):
        assert grouped.find(total, log) is None
        for row in range(MAX_SINGLE_ROWS + 1):
            log.append(row)
    assert grouped.find(total, log) is None
    assert grouped.find(total, log) is not None


def test_other_totals_mean_to_start_afresh() -> None:
    total, log, pods = np.zeros(ROWS, np.int32), ChangeLog[int](), np.zeros(ROWS, np.int64)
    grouped = GroupedBest([], [(1, PodsAndZone(pods, pods))])
    assert two_looks(grouped, total, log) == [False, True]
    assert two_looks(grouped, total.copy(), log) == [False, True]


def test_rows_that_have_little_in_common_are_left_to_columns() -> None:
    many = MAX_GROUPS + 1
    total, log = np.zeros(many, np.int32), ChangeLog[int]()
    assert two_looks(GroupedBest([], [(1, PodsAndZone(np.arange(many), np.zeros(many, np.int64)))]), total, log) == [
        False,
        False,
    ]


def test_so_are_rows_that_a_kernel_cannot_tell_by_features() -> None:
    pods = np.zeros(ROWS, np.int64)
    assert two_looks(GroupedBest([], [(1, NeverAlike(pods, pods))]), np.zeros(ROWS, np.int32), ChangeLog()) == [
        False,
        False,
    ]
    assert GroupedBest.create([object()], []) is None


def test_numbers_of_many_domains_that_are_gone_do_not_make_groups_one() -> None:
    """Six keys with ids up to 4095 have more combinations than 64 bits."""
    columns = [np.array([0, 4095, 4095, 17], np.int64) for _ in range(6)]
    columns[0] = np.array([0, 4095, 4095 - 16, 17], np.int64)
    assert len(set(_codes(columns).tolist())) == 4
