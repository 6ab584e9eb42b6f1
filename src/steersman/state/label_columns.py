# SPDX-License-Identifier: Apache-2.0
"""Node labels and taints as interned columns; requirements evaluated once per distinct value, then gathered.

Columns appear when somebody asks for them, follow the nodes as long as somebody refers to them, and are freed afterwards: which
requirements and keys there are, users write. A node that changes concerns only the columns of the labels that are different.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.api import Taint
from steersman.api.selectors import Requirement
from steersman.bounded_table import SharedTable
from steersman.framework.nodes_view import BoolColumn
from steersman.kept import Kept

RowLabels = Callable[[], Iterable[tuple[int, Mapping[str, str]]]]

#: Of columns of value ids, so many stay that nobody needs at the moment.
_SPARE_KEYS = 8


class LabelValues:
    """The values of one label: int32[capacity] of ids by row (-1: no such label), and the ids by value."""

    __slots__ = ("__weakref__", "ids", "known")

    def __init__(self, capacity: int) -> None:
        self.ids: NDArray[np.int32] = np.full(capacity, -1, np.int32)
        self.known: dict[str, int] = {}

    def set(self, row: int, value: str | None) -> None:
        self.ids[row] = -1 if value is None else self.known.setdefault(value, len(self.known))


LABEL_VALUES = Kept(
    name="label values",
    attributes=("LabelColumns._values", "LabelColumns._nodes_with"),
    holds="which value of a label each row's node has",
    key="label key",
    stamps="never: written with every change of the facts",
    bound="those that somebody reads, and a few spare ones (`SharedTable`)",
    twin="the labels of each node",
)


REQUIREMENT_COLUMNS = Kept(
    name="requirement columns",
    attributes=("LabelColumns._met",),
    holds="which rows meet a requirement of a node selector",
    key="requirement",
    stamps="never: written with every change of the facts",
    bound="those that somebody reads, and a few spare ones (`SharedTable`)",
    twin="`Requirement.matches` of each node's labels",
)


class LabelColumns:
    """Invariant: every column that somebody refers to says what the labels of the rows with a node say."""

    def __init__(self, capacity: int, current: RowLabels, spare: int) -> None:
        """`spare`: so many columns of requirements are kept that nobody refers to."""
        self._capacity = capacity
        self._current = current
        self._values: SharedTable[str, LabelValues] = SharedTable(_SPARE_KEYS)
        self._met: SharedTable[Requirement, BoolColumn] = SharedTable(spare)
        #: How many nodes have a label with that key.
        self._nodes_with: Counter[str] = Counter()

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Rows that meet the requirement; the array is kept up to date in place."""
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
        """Values that no node has any more are forgotten."""
        column.known.clear()
        for row, labels in self._current():
            column.set(row, labels.get(key))

    def has(self, key: str) -> bool:
        """Whether some node has the label."""
        return key in self._nodes_with

    def set(self, row: int, before: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """The labels of the row's node were those, and are these now."""
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
        column = self.values(key)
        answers = np.zeros(len(column.known) + 1, np.bool_)
        for value, value_id in column.known.items():
            answers[value_id] = requirement.matches_value(value)
        answers[-1] = requirement.matches_value(None)
        return answers.take(column.ids, mode="wrap")

    def __len__(self) -> int:
        return len(self._met) + len(self._values)


def different_keys(before: Mapping[str, str], now: Mapping[str, str]) -> Collection[str]:
    """The labels that were added, removed or changed."""
    if before == now:
        return ()
    return {key for key, _ in before.items() ^ now.items()}


TAINT_SETS = Kept(
    name="taint sets",
    attributes=("TaintColumn.ids", "TaintColumn.sets", "TaintColumn._known"),
    holds="which set of taints each row's node has",
    key="taints without their times",
    stamps="never: written with every change of the facts",
    bound="twice as many sets as rows; then those go that no row has, and the table's generation moves",
    twin="the taints of each node",
)


class TaintColumn:
    """Implements `framework.nodes_view.TaintSets`: most nodes share a few sets of taints, but for the time of addition."""

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
    def is_crowded(self) -> bool:
        """Whether most sets that are known may be those of former times: no more sets are in use than there are rows."""
        return len(self.sets) > 2 * len(self.ids)

    def start_afresh(self) -> None:
        """Forgets the sets that no row has. The others get other numbers: kernels that know the old ones are void."""
        in_use = np.unique(self.ids).tolist()
        sets: list[tuple[Taint, ...]] = [(), *(self.sets[index] for index in in_use if index)]
        self._known = {taints: index for index, taints in enumerate(sets)}
        numbers = np.array([self._known.get(taints, 0) for taints in self.sets], np.intp)
        self.ids[:] = numbers.take(self.ids)
        self.sets = sets
