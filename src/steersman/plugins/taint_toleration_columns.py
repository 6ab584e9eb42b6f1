# SPDX-License-Identifier: Apache-2.0
"""The vector form of TaintToleration: taints are judged once per distinct set of them, then gathered by row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from steersman.api import Taint, Toleration
from steersman.api.tolerations import PREFER_NO_SCHEDULE
from steersman.framework.columns import FilterKernel, Normalize, ScoreKernel
from steersman.framework.nodes_view import (
    IntColumn,
    ReasonColumn,
    Rows,
    TaintSets,
)

Tolerations = frozenset[Toleration]


def hard_tolerations(
    tolerations: Iterable[Toleration], effects: Collection[str], comparison_operators: bool
) -> Tolerations:
    """Those that can cover a taint with one of the effects; equal for lists that cover the same."""
    relevant = (each for each in tolerations if not each.effect or each.effect in effects)
    return _canonical(relevant, comparison_operators)


def soft_tolerations(tolerations: Iterable[Toleration], comparison_operators: bool) -> Tolerations:
    """Those that can cover a PreferNoSchedule taint; the effect, the same for all then, is left out."""
    relevant = (
        Toleration(key=each.key, operator=each.operator, value=each.value)
        for each in tolerations
        if each.effect in ("", PREFER_NO_SCHEDULE)
    )
    return _canonical(relevant, comparison_operators)


def _canonical(tolerations: Iterable[Toleration], comparison_operators: bool) -> Tolerations:
    """Without order, times and other ways to write the same; without tolerations whose operator never covers a taint."""
    operators = {"Equal", "Exists", "Lt", "Gt"} if comparison_operators else {"Equal", "Exists"}
    plain = (
        Toleration(
            key=each.key,
            operator=each.operator or "Equal",
            value="" if each.operator == "Exists" else each.value,
            effect=each.effect,
        )
        for each in tolerations
    )
    return frozenset(each for each in plain if each.operator in operators)


class TaintSetAnswers:
    """A number per set of taints, computed when the set is first met."""

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._sets = taints.sets
        self._ids = taints.ids
        self._id_cell = taints.ids.data
        self._judge = judge
        self._answers: list[int] = []

    def rows(self, rows: Rows) -> IntColumn:
        self._judge_new_sets()
        return np.array(self._answers, np.int64).take(self._ids[rows])

    def row(self, row: int) -> int:
        set_id: int = self._id_cell[row]
        if set_id >= len(self._answers):
            self._judge_new_sets()
        return self._answers[set_id]

    def _judge_new_sets(self) -> None:
        self._answers += map(self._judge, self._sets[len(self._answers) :])


class UntoleratedTaints(FilterKernel):
    """`judge` gives the reason against a set of taints, 0 for none."""

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._answers = TaintSetAnswers(taints, judge)

    def rows(self, rows: Rows) -> ReasonColumn:
        return self._answers.rows(rows).astype(np.int32)

    def row(self, row: int) -> int:
        return self._answers.row(row)


class UntoleratedSoftTaints(ScoreKernel):
    """`judge` counts the soft taints of a set that the pod does not tolerate."""

    normalize = Normalize.DEFAULT_REVERSE

    def __init__(self, taints: TaintSets, judge: Callable[[tuple[Taint, ...]], int]) -> None:
        self._answers = TaintSetAnswers(taints, judge)

    def rows(self, rows: Rows) -> IntColumn:
        return self._answers.rows(rows)

    def row(self, row: int) -> int:
        return self._answers.row(row)
