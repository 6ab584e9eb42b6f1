# SPDX-License-Identifier: Apache-2.0
"""Scores of soft constraints, once per class of rows that must score the same.

Rows in the same domain of every topology with the same number of matching pods on the host get the same score. There are
few such classes, so that in every cycle only these are computed, and one gather gives the column. Which class a row is in
follows the change log: after placing a pod, one row moves.

    class = 1 + pods on host + limit · (domain in 1st topology + domains · (domain in 2nd topology + …))

Class 0 holds the rows that are not scored: infeasible ones, and those that lack a required label. `row_scores` is the
specification, and takes over where there would be too many classes, or rows that differ in more than this.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from steersman.framework.columns import Feasible, RowFeature
from steersman.framework.nodes_view import AnyIntColumn, Column
from steersman.framework.plugin import MAX_NODE_SCORE
from steersman.kept import Kept
from steersman.plugins.pod_topology_spread.row_scores import ALMOST_HALF, SoftConstraint, SoftConstraints
from steersman.plugins.pod_topology_spread.scoring import topology_weight

#: Up to this weight a score fits into the 32 bits of the table of classes.
MOST_WEIGHT = 1 << 24
#: With more classes than this, or more that hold feasible rows, computing row by row is not slower.
_MOST_CLASSES = 1 << 13
_MOST_INHABITED = 128
#: More changed rows than this are classified all at once.
_FEW_ROWS = 48
#: The place of a row that is never scored: whatever is added, it stays negative.
_NOWHERE = -(1 << 30)


Places: TypeAlias = list[tuple[SoftConstraint, list[int], int]]
"""By constraint: what it looks at for each of some classes (the pods on the host, or the domain), and how many differ."""


class Inhabited:
    """The classes of the rows that are scored in this cycle, and the number of these rows."""

    __slots__ = ("classes", "row_count")

    def __init__(self, classes: list[int], row_count: int) -> None:
        self.classes = classes
        self.row_count = row_count


SCORE_CLASSES = Kept(
    name="classes of equal spread scores",
    attributes=(
        "ScoreClasses._class_of",
        "ScoreClasses._population",
        "ScoreClasses._place",
        "ScoreClasses._nodes_seen",
        "ScoreClasses._position",
    ),
    holds="which rows get one score from soft constraints, and how many these are",
    key="one for each kernel",
    stamps=(
        "end of the log of changed nodes: made anew; position in the log of changed rows: those are moved; other feasible "
        "rows: made anew"
    ),
    bound="8,192 classes; beyond, scores are computed row by row",
    twin="`RowScores`, row by row",
    held_equal="tests/plugins/pod_topology_spread/test_score_classes.py",
    is_inline=True,
)


class ScoreClasses:
    """The classes of all rows, for the constraints of one kernel."""

    def __init__(self, constraints: SoftConstraints) -> None:
        self._constraints = constraints
        self._view = constraints.view
        self._log = self._view.log
        self._by_domain = [c for c in constraints.each if c.by_domain is not None]
        by_host = [c for c in constraints.each if c.by_domain is None]
        self._by_host = by_host[0] if by_host else None
        self._on_host = by_host[0].per_row if by_host else Column(np.zeros(self._view.capacity, np.int64))
        #: Scores are not negative, and one count on the host is all that matters there.
        self._simple = len(by_host) <= 1 and all(c.max_skew >= 1 for c in constraints.each)
        #: Position in the node log up to which `_place` is right.
        self._nodes_seen = -1
        #: Position in the log up to which `_class_of` is right, and for which local feasibility.
        self._position = -1
        self._local: AnyIntColumn | None = None
        #: The classes that `_resolved` is about: constraint, what it looks at by class, and how many of that differ.
        self._resolved_classes: list[int] = []
        self._resolved: Places = []
        #: The groups of which was asked last, the positions of those that are scored, and what the constraints look at there.
        self._known_groups: Sequence[tuple[int, ...]] = ()
        self._scored: Sequence[int] = ()
        self._places: Places = []

    def inhabited(self, feasible: Feasible) -> Inhabited | None:
        """The classes that have feasible rows; None: compute row by row instead."""
        if not self._catch_up(feasible.local):
            return None
        population, row_count = self._population, self._view.capacity - self._population_cell[0]
        if feasible.rejected is not None:
            lost = self._class_of.take(feasible.rejected.nonzero()[0])
            gone = np.bincount(lost, minlength=self._size)
            population = population - gone
            row_count -= len(lost) - int(gone[0])
        classes: list[int] = population.nonzero()[0].tolist()
        if classes and classes[0] == 0:
            del classes[0]
        return Inhabited(classes, row_count) if len(classes) <= _MOST_INHABITED else None

    def column(self, inhabited: Inhabited, weight: int = 1) -> AnyIntColumn | None:
        """The normalised score of every row times `weight`; None when no row is scored. Valid for the cycle of `inhabited`
        only."""
        if not inhabited.classes:
            return None
        score_of = self._score_cell
        for each, score in zip(inhabited.classes, _normalised(self._raw(inhabited)), strict=True):
            score_of[each] = weight * score
        column: AnyIntColumn = self._score.take(self._class_of)
        return column

    # -- by groups of rows that the caller keeps ---------------------------------------------------------------------

    def features(self) -> Sequence[RowFeature] | None:
        """The domain of a row, or the number of matching pods on it, by constraint. None: rows differ in more than this."""
        if not self._simple or self._has_odd_rows():
            return None
        if self._by_host is not None and bool((self._view.alive & (self._by_host.topology.domain == 0)).any()):
            return None
        return [_feature_of(constraint) for constraint in self._constraints.each]

    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[int] | None:
        """The normalised score of every group; None when none is scored."""
        if groups is not self._known_groups:
            self._known_groups = groups
            self._scored = self._scored_among(groups)
            self._places = self._places_of(groups, self._scored)
        scored, places = self._scored, self._places
        if 0 in counts:
            scored = [position for position in scored if counts[position]]
            places = self._places_of(groups, scored)
        if not scored:
            return None
        normalised = _normalised(self._sums(places, sum([counts[position] for position in scored])))
        if len(scored) == len(groups):
            return normalised
        score_of = [0] * len(groups)
        for position, score in zip(scored, normalised, strict=True):
            score_of[position] = score
        return score_of

    def _scored_among(self, groups: Sequence[tuple[int, ...]]) -> Sequence[int]:
        """The positions of groups that are scored: not where a required label is missing, which is domain 0."""
        if not self._constraints.require_all_keys:
            return range(len(groups))
        domains = [at for at, constraint in enumerate(self._constraints.each) if constraint is not self._by_host]
        return [position for position, group in enumerate(groups) if all(group[at] for at in domains)]

    def _places_of(self, groups: Sequence[tuple[int, ...]], positions: Sequence[int]) -> Places:
        """By constraint: the pods on the host, or the domain, of each group, and how many of that differ."""
        places: Places = []
        for at, constraint in enumerate(self._constraints.each):
            values = [groups[position][at] for position in positions]
            places.append((constraint, values, len(set(values))))
        return places

    # -- raw scores, by class ----------------------------------------------------------------------------------------

    def _raw(self, inhabited: Inhabited) -> list[int]:
        if inhabited.classes != self._resolved_classes:
            self._resolve(inhabited.classes)
        return self._sums(self._resolved, inhabited.row_count)

    def _sums(self, places: Places, row_count: int) -> list[int]:
        """Over all constraints, rounded."""
        totals: list[float] | None = None
        for constraint, values, different in places:
            if constraint is self._by_host:
                scores = _scores_on_hosts(constraint, values, row_count)
            else:
                scores = _scores_in_domains(constraint, values, different)
            totals = scores if totals is None else list(map(add, totals, scores))
        return [int(total + ALMOST_HALF) for total in totals or ()]

    def _resolve(self, classes: list[int]) -> None:
        """The meaning of the classes: the number of pods on the host, or the domain, by constraint and class. From one
        cycle to the next these are mostly the same classes."""
        self._resolved_classes = classes
        self._resolved = []
        for constraint, stride in zip(self._constraints.each, self._strides, strict=True):
            if constraint is self._by_host:
                places = [(each - 1) % self._limit for each in classes]
            else:
                size = constraint.topology.size
                places = [(each - 1) // stride % size for each in classes]
            self._resolved.append((constraint, places, len(set(places))))

    # -- keeping the classes right -----------------------------------------------------------------------------------

    def _catch_up(self, local: AnyIntColumn) -> bool:
        """Whether there are classes that can be used."""
        if self._nodes_seen != self._view.node_log.end:
            self._place_rows()
        if not self._usable:
            return False
        position = self._log.end
        if local is not self._local:
            self._classify(local)
        elif position != self._position:
            rows = self._log.since(self._position)
            if rows is None or len(rows) > _FEW_ROWS or not self._move(rows, self._local_cell):
                self._classify(local)
        self._position = position
        return self._usable

    def _move(self, rows: Collection[int], penalty: memoryview) -> bool:
        """Puts single rows into their classes; False when one has more pods than there is room for."""
        limit, place, on_host = self._limit, self._place_cell, self._on_host.cell
        class_of, population = self._class_cell, self._population_cell
        for row in rows:
            count = on_host[row]
            if count >= limit:
                return False
            now = place[row] + count
            if now < 0 or penalty[row]:
                now = 0
            before = class_of[row]
            if now != before:
                class_of[row] = now
                population[before] -= 1
                population[now] += 1
        return True

    def _classify(self, local: AnyIntColumn) -> None:
        """Puts every row into its class."""
        if int(self._on_host.values.max()) >= self._limit:
            self._place_rows()
        if not self._usable:
            return
        self._local = local
        self._local_cell = local.data
        classes = self._place + self._on_host.values
        classes += local
        #: intp[capacity]: class by row.
        self._class_of = np.maximum(classes, 0, out=classes)
        self._class_cell = self._class_of.data
        #: intp[classes]: number of rows by class.
        self._population = np.bincount(classes, minlength=self._size)
        self._population_cell = self._population.data

    def _place_rows(self) -> None:
        """The part that nodes decide: all but the number of pods on the host, and whether there can be classes at all."""
        self._nodes_seen = self._view.node_log.end
        self._local = None
        self._resolved_classes = []
        #: Greater than the number of matching pods on any host, so that there is one class for each.
        self._limit = 1 << (int(self._on_host.values.max()) + 1).bit_length() if self._by_host else 1
        #: What a domain of each constraint counts for in the number of a class.
        self._strides: list[int] = []
        stride = self._limit
        for constraint in self._constraints.each:
            self._strides.append(stride)
            stride *= 1 if constraint is self._by_host else constraint.topology.size
        self._size = 1 + stride
        self._usable = self._simple and self._size <= _MOST_CLASSES and not self._has_odd_rows()
        if self._usable:
            self._make_columns()

    def _make_columns(self) -> None:
        #: int32[capacity]: the class of a row without matching pods.
        self._place = np.ones(self._view.capacity, np.int32)
        for constraint, stride in zip(self._constraints.each, self._strides, strict=True):
            if constraint is not self._by_host:
                self._place += (constraint.topology.domain * stride).astype(np.int32)
        if self._constraints.require_all_keys:
            self._place[~self._constraints.rows_with_all_keys()] = _NOWHERE
        self._place_cell = self._place.data
        #: int32[classes]: normalised score by class, right for the inhabited ones after `column`.
        self._score: NDArray[np.int32] = np.zeros(self._size, np.int32)
        self._score_cell = self._score.data

    def _has_odd_rows(self) -> bool:
        """Rows that are scored without a host name, or share a domain with those that lack the label."""
        if self._constraints.require_all_keys:
            return False
        if any(c.topology.empty_value for c in self._by_domain):
            return True
        if self._by_host is None:
            return False
        return bool((self._view.alive & (self._by_host.topology.domain == 0)).any())


def _feature_of(constraint: SoftConstraint) -> RowFeature:
    if constraint.by_domain is None:
        on_host = constraint.per_row
        return RowFeature(lambda: on_host.values, on_host.cell.__getitem__, True)
    topology = constraint.topology
    return RowFeature(lambda: topology.domain, topology.cell.__getitem__, False)


def _normalised(raw: Sequence[int]) -> list[int]:
    """The fewer pods, the better."""
    greatest = max(raw)
    if not greatest:
        return [MAX_NODE_SCORE] * len(raw)
    both = greatest + min(raw)
    return [MAX_NODE_SCORE * (both - score) // greatest for score in raw]


def _scores_on_hosts(constraint: SoftConstraint, counts: list[int], row_count: int) -> list[float]:
    weight, tolerated = topology_weight(row_count), float(constraint.max_skew - 1)
    return [count * weight + tolerated for count in counts]


def _scores_in_domains(constraint: SoftConstraint, domains: list[int], different: int) -> list[float]:
    """Rows without the label are in domain 0, which adds nothing."""
    assert constraint.by_domain is not None
    weight, tolerated = topology_weight(different), float(constraint.max_skew - 1)
    count_in = constraint.by_domain.cell
    return [count_in[domain] * weight + tolerated if domain else 0.0 for domain in domains]
