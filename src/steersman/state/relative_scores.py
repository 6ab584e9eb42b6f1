# SPDX-License-Identifier: Apache-2.0
"""Scores relative to the greatest among the feasible rows: the part of a signature that depends on which rows these are.

A signature adds the normalised scores to what its rows are worth in themselves, and has them normalised again when a row
became feasible or ceased to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steersman.framework.columns import Depends, Normalize, ScoreKernel
from steersman.framework.nodes_view import AnyIntColumn
from steersman.state.fragment_columns import FragmentColumn

MAX_SCORE = 100

ScoreColumn = FragmentColumn[ScoreKernel]


class WeightedColumn:
    """A score column with the weight that the profile gives it."""

    __slots__ = ("column", "normalize", "weight")

    def __init__(self, column: ScoreColumn, weight: int) -> None:
        self.column = column
        self.weight = weight
        self.normalize = column.kernel.normalize


class RelativeScores:
    """The weighted sum of some columns, normalised for a set of feasible rows."""

    __slots__ = ("_dtype", "_follows_pods", "_maxima", "_parts", "cell", "values")

    def __init__(
        self, parts: Sequence[WeightedColumn], penalty: AnyIntColumn, dtype: type[np.signedinteger[Any]]
    ) -> None:
        self._parts = parts
        self._dtype = dtype
        self._follows_pods = any(part.column.kernel.depends is Depends.NODE_PODS for part in parts)
        self._maxima = self._maxima_of(penalty)
        #: dtype[capacity], and its twin.
        self.values = self._sum(self._maxima)
        self.cell = self.values.data

    def renew(self, penalty: AnyIntColumn) -> None:
        """For the rows without penalty."""
        maxima = self._maxima_of(penalty)
        if maxima != self._maxima or self._follows_pods:
            self._maxima = maxima
            self.values = self._sum(maxima)
            self.cell = self.values.data

    def for_rows(self, penalty: AnyIntColumn) -> AnyIntColumn:
        """The same for another set of feasible rows. Not to be changed."""
        maxima = self._maxima_of(penalty)
        return self.values if maxima == self._maxima and not self._follows_pods else self._sum(maxima)

    def _maxima_of(self, penalty: AnyIntColumn) -> list[int]:
        """The greatest raw scores among the rows without penalty; 0 when there is none."""
        return [max(0, int(np.add(part.column.values, penalty, dtype=np.int64).max(initial=0))) for part in self._parts]

    def _sum(self, maxima: Sequence[int]) -> AnyIntColumn:
        total = np.zeros(len(self._parts[0].column.values), self._dtype)
        for part, greatest in zip(self._parts, maxima, strict=True):
            total += (normalise(part.column.values, greatest, part.normalize) * part.weight).astype(self._dtype)
        return total


def normalise(raw: AnyIntColumn, greatest: int, how: Normalize) -> AnyIntColumn:
    """Raw scores to 0..100 relative to the greatest among the feasible rows; see `Normalize`."""
    if how is Normalize.NONE:
        return raw
    reverse = how is Normalize.DEFAULT_REVERSE
    if greatest <= 0:
        return np.full_like(raw, MAX_SCORE) if reverse else raw
    scaled = MAX_SCORE * raw // greatest
    return MAX_SCORE - scaled if reverse else scaled
