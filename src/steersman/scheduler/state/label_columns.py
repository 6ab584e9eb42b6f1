# SPDX-License-Identifier: Apache-2.0
"""Node labels and taints as interned columns; requirements are evaluated once per distinct value
and then gathered.

Columns are created on first use, updated as long as they are referenced, and freed afterwards,
because users can write any number of requirements and keys. A changed node only affects the columns
of the labels that differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.api import Operator, Requirement, Taint, parse_int64
from steersman.base import CacheSpec, WeakValueCache
from steersman.framework import BoolColumn, IntColumn

RowLabels = Callable[[], Iterable[tuple[int, Mapping[str, str]]]]

#: Number of unused columns of value ids to keep.
_SPARE_KEYS = 8


class LabelValues:
    """Values of one label: int32[capacity] of ids by row (-1: no such label), and the ids by
    value."""

    __slots__ = ("__weakref__", "_numbers", "ids", "known")

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.full(capacity, -1, np.int32)
        self.known: dict[str, int] = {}
        #: int64 by id, for comparisons with Gt and with Lt; a non-integer value has the number that
        #: never satisfies the comparison.
        self._numbers = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def set(self, row: int, value: str | None) -> None:
        self.ids[row] = -1 if value is None else self.known.setdefault(value, len(self.known))

    def clear(self) -> None:
        """Forget the values; every row must be set again."""
        self.known.clear()
        self._numbers = (np.zeros(0, np.int64), np.zeros(0, np.int64))

    def meeting(self, requirement: Requirement) -> BoolColumn:
        """Return the rows that meet the requirement on this label. Reference:
        `Requirement.matches_value` of each value."""
        #: By id; the last entry is for rows without the label.
        met = np.zeros(len(self.known) + 1, np.bool_)
        match requirement.operator:
            case Operator.IN | Operator.NOT_IN:
                met[[self.known[value] for value in requirement.values if value in self.known]] = True
                if requirement.operator is Operator.NOT_IN:
                    np.logical_not(met, out=met)
            case Operator.EXISTS:
                met[:-1] = True
            case Operator.DOES_NOT_EXIST:
                met[-1] = True
            case Operator.GT | Operator.LT:
                met[:-1] = self._compare(requirement)
        return met.take(self.ids, mode="wrap")

    def _compare(self, requirement: Requirement) -> BoolColumn:
        bound = parse_int64(requirement.values[0])
        if bound is None:
            return np.zeros(len(self.known), np.bool_)
        if len(self._numbers[0]) != len(self.known):
            numbers = [parse_int64(value) for value in self.known]
            self._numbers = (_with_default(numbers, -(2**63)), _with_default(numbers, 2**63 - 1))
        greater, less = self._numbers
        return greater > bound if requirement.operator is Operator.GT else less < bound


def _with_default(numbers: Iterable[int | None], default: int) -> IntColumn:
    return np.array([default if number is None else number for number in numbers], np.int64)


LABEL_VALUES = CacheSpec(
    name="label values",
    attributes=("LabelColumns._values", "LabelColumns._nodes_with"),
    contents="which value of a label each row's node has",
    key="label key",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use, and a few spare ones (`WeakValueCache`)",
    reference="the labels of each node",
)


REQUIREMENT_COLUMNS = CacheSpec(
    name="requirement columns",
    attributes=("LabelColumns._met",),
    contents="which rows meet a requirement of a node selector",
    key="requirement",
    invalidation="never: updated with every change of the cluster state",
    limit="those in use, and a few spare ones (`WeakValueCache`)",
    reference="`Requirement.matches` of each node's labels",
)


class LabelColumns:
    """Columns of labels. Invariant: every referenced column equals the labels of the rows with a
    node."""

    def __init__(self, capacity: int, current: RowLabels, spare: int) -> None:
        """`spare` is the number of unused requirement columns to keep."""
        self._capacity = capacity
        self._current = current
        self._values: WeakValueCache[str, LabelValues] = WeakValueCache(_SPARE_KEYS)
        self._met: WeakValueCache[Requirement, BoolColumn] = WeakValueCache(spare)
        #: Number of nodes by label key.
        self._nodes_with: Counter[str] = Counter()

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Return the rows that meet the requirement; the array is updated in place."""
        met = self._met.get(requirement)
        if met is None:
            met = self._evaluate(requirement)
            self._met.put(requirement, met)
        return met

    def values(self, key: str) -> LabelValues:
        column = self._values.get(key)
        if column is None:
            column = LabelValues(self._capacity)
            if key in self._nodes_with:
                self._fill(key, column)
            self._values.put(key, column)
        return column

    def _fill(self, key: str, column: LabelValues) -> None:
        """Set all rows; values without nodes are dropped."""
        column.clear()
        for row, labels in self._current():
            column.set(row, labels.get(key))

    def has(self, key: str) -> bool:
        """Return whether any node has the label."""
        return key in self._nodes_with

    def set(self, row: int, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Update the columns after a change of the labels of the row's node."""
        different = different_keys(before, labels)
        if not different:
            return
        for key in different:
            self._count(key, (key in labels) - (key in before))
            values = self._values.peek(key)
            if values is not None:
                values.set(row, labels.get(key))
                if len(values.known) > 2 * self._capacity:
                    self._fill(key, values)
        for requirement, met in self._met.items():
            if requirement.key in different:
                met[row] = requirement.matches(labels)

    def _count(self, key: str, change: int) -> None:
        if change:
            self._nodes_with[key] += change
            if not self._nodes_with[key]:
                del self._nodes_with[key]

    def _evaluate(self, requirement: Requirement) -> BoolColumn:
        key = requirement.key
        if key not in self._nodes_with:
            return np.full(self._capacity, requirement.matches({}))
        return self.values(key).meeting(requirement)

    def __len__(self) -> int:
        return len(self._met) + len(self._values)


def different_keys(before: Mapping[str, str], now: Mapping[str, str]) -> Collection[str]:
    """Return the labels that were added, removed or changed."""
    if before == now:
        return ()
    return {key for key, _ in before.items() ^ now.items()}


TAINT_SETS = CacheSpec(
    name="taint sets",
    attributes=("TaintColumn.ids", "TaintColumn.sets", "TaintColumn._known"),
    contents="which set of taints each row's node has",
    key="taints without their times",
    invalidation="never: updated with every change of the cluster state",
    limit="twice as many sets as rows; then unused sets are removed, and the table's generation changes",
    reference="the taints of each node",
)


class TaintColumn:
    """Implements `framework.nodes_view.TaintSets`: most nodes share a few sets of taints, ignoring
    the time of addition."""

    def __init__(self, capacity: int) -> None:
        #: intp[capacity]: index into `sets`.
        self.ids: NDArray[np.intp] = np.zeros(capacity, np.intp)
        self.sets: list[tuple[Taint, ...]] = [()]
        self._known: dict[tuple[Taint, ...], int] = {(): 0}

    def set(self, row: int, taints: tuple[Taint, ...]) -> None:
        taints = tuple([Taint(taint.key, taint.value, taint.effect) for taint in taints])
        known = self._known.get(taints)
        if known is None:
            known = self._known[taints] = len(self.sets)
            self.sets.append(taints)
        self.ids[row] = known

    @property
    def is_full(self) -> bool:
        """Whether most sets may be unused: at most one set per row is in use."""
        return len(self.sets) > 2 * len(self.ids)

    def reset(self) -> None:
        """Drop unused sets and renumber the others; kernels that use the old numbers become
        invalid."""
        in_use = np.unique(self.ids).tolist()
        sets: list[tuple[Taint, ...]] = [(), *(self.sets[index] for index in in_use if index)]
        self._known = {taints: index for index, taints in enumerate(sets)}
        numbers = np.array([self._known.get(taints, 0) for taints in self.sets], np.intp)
        self.ids[:] = numbers.take(self.ids)
        self.sets = sets
