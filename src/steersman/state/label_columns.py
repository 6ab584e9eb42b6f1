"""Node labels and taints as interned columns; requirements evaluated once per distinct value, then gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from steersman.api import Taint
from steersman.api.selectors import Requirement
from steersman.framework.nodes_view import BoolColumn

RowLabels = Callable[[], Iterable[tuple[int, Mapping[str, str]]]]


class LabelColumns:
    """Columns appear when somebody asks for them, and follow the nodes from then on."""

    def __init__(self, capacity: int, current: RowLabels) -> None:
        self._capacity = capacity
        self._current = current
        #: Per key: int32[capacity] of value ids (-1: no such label) and the ids by value.
        self._values: dict[str, tuple[NDArray[np.int32], dict[str, int]]] = {}
        self._met: dict[Requirement, BoolColumn] = {}

    def requirement(self, requirement: Requirement) -> BoolColumn:
        """Rows that meet the requirement; the array is kept up to date in place."""
        met = self._met.get(requirement)
        if met is None:
            met = self._met[requirement] = self._evaluate(requirement)
        return met

    def values(self, key: str) -> tuple[NDArray[np.int32], dict[str, int]]:
        """Ids of the label's values by row, and the ids by value."""
        column = self._values.get(key)
        if column is None:
            ids = np.full(self._capacity, -1, np.int32)
            known: dict[str, int] = {}
            for row, labels in self._current():
                value = labels.get(key)
                if value is not None:
                    ids[row] = known.setdefault(value, len(known))
            column = self._values[key] = (ids, known)
        return column

    def set(self, row: int, labels: Mapping[str, str]) -> None:
        for key, (ids, known) in self._values.items():
            value = labels.get(key)
            ids[row] = -1 if value is None else known.setdefault(value, len(known))
        for requirement, met in self._met.items():
            met[row] = requirement.matches(labels)

    def _evaluate(self, requirement: Requirement) -> BoolColumn:
        ids, known = self.values(requirement.key)
        answers = np.zeros(len(known) + 1, np.bool_)
        for value, value_id in known.items():
            answers[value_id] = requirement.matches({requirement.key: value})
        answers[-1] = requirement.matches({})
        return answers.take(ids, mode="wrap")


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
