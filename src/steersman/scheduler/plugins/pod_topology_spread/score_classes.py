# SPDX-License-Identifier: Apache-2.0
"""Scores of soft constraints, once per class of rows with equal scores.

Rows in the same domain of every topology and with equally many matching pods on the host have the
same score. There are few such classes: each cycle computes only their scores and gathers the
column. Classes follow the change log: placing a pod moves one row.

class = 1 + pods on host + limit · (domain in 1st topology + domains · (domain in 2nd topology + …))

Class 0 has the rows that are not scored: infeasible ones, and those that lack a required label.
`row_scores` is the specification, and is used for too many classes or rows that differ otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from steersman.base import CacheSpec
from steersman.framework import MAX_NODE_SCORE, AnyIntColumn, Column, Feasible, RowFeature
from steersman.scheduler.plugins.pod_topology_spread.row_scores import (
    LARGEST_BELOW_HALF,
    SoftConstraint,
    SoftConstraints,
)
from steersman.scheduler.plugins.pod_topology_spread.scoring import topology_weight

#: Up to this weight, scores fit into the 32 bits of the table of classes.
MAX_WEIGHT = 1 << 24
#: Maximum numbers of classes, and of classes with feasible rows, that are faster than rows.
_MAX_CLASSES = 1 << 13
_MAX_INHABITED = 128
#: If more rows have changed, all rows are classified again.
_MAX_CHANGED_ROWS = 48
#: Place of a row that is never scored: so low that it stays negative after any addition.
_NOWHERE = -(1 << 30)


Places: TypeAlias = list[tuple[SoftConstraint, list[int], int]]
"""Per constraint: pods on the host or domain for each class, and the number of distinct values."""


class Inhabited:
    """The classes of the rows that are scored in this cycle, and the number of these rows."""

    __slots__ = ("classes", "row_count")

    def __init__(self, classes: list[int], row_count: int) -> None:
        self.classes = classes
        self.row_count = row_count


SCORE_CLASSES = CacheSpec(
    name="classes of equal spread scores",
    attributes=(
        "ScoreClasses._class_of",
        "ScoreClasses._population",
        "ScoreClasses._place",
        "ScoreClasses._nodes_seen",
        "ScoreClasses._position",
    ),
    contents="which rows get the same score from soft constraints, and their number",
    key="one for each kernel",
    invalidation=(
        "end of the log of changed nodes: rebuilt; position in the log of changed rows: those are moved; other feasible "
        "rows: rebuilt"
    ),
    limit="8,192 classes; beyond that, scores are computed row by row",
    reference="`RowScores`, row by row",
    checked_by="tests/plugins/pod_topology_spread/test_score_classes.py",
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
        #: Whether scores are not negative and at most one constraint counts per host.
        self._simple = len(by_host) <= 1 and all(c.max_skew >= 1 for c in constraints.each)
        #: Position in the node log up to which `_place` is valid.
        self._nodes_seen = -1
        #: Log position and local feasibility for which `_class_of` is valid.
        self._position = -1
        self._local: AnyIntColumn | None = None
        #: The classes of `_resolved`, which has the values of each constraint for them.
        self._resolved_classes: list[int] = []
        self._resolved: Places = []
        #: The last groups, the positions of the scored ones, and their constraint values.
        self._known_groups: Sequence[tuple[int, ...]] = ()
        self._scored: Sequence[int] = ()
        self._places: Places = []

    def inhabited(self, feasible: Feasible) -> Inhabited | None:
        """Return the classes with feasible rows, or None if computing row by row is better."""
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
        return Inhabited(classes, row_count) if len(classes) <= _MAX_INHABITED else None

    def column(self, inhabited: Inhabited, weight: int = 1) -> AnyIntColumn | None:
        """Return the normalised score of every row times `weight`, or None without scored rows.
        Valid only for the cycle of `inhabited`."""
        if not inhabited.classes:
            return None
        score_of = self._score_cell
        for each, score in zip(inhabited.classes, _normalised(self._raw(inhabited)), strict=True):
            score_of[each] = weight * score
        column: AnyIntColumn = self._score.take(self._class_of)
        return column

    # -- scores of the caller's groups -------------------------------------------------------------------------------

    def features(self) -> Sequence[RowFeature] | None:
        """Return domain or pods on the row by constraint, or None if rows differ otherwise."""
        if not self._simple or self._has_odd_rows():
            return None
        if self._by_host is not None and bool((self._view.alive & (self._by_host.topology.domain == 0)).any()):
            return None
        return [_feature_of(constraint) for constraint in self._constraints.each]

    def group_scores(self, groups: Sequence[tuple[int, ...]], counts: Sequence[int]) -> list[int] | None:
        """Return the normalised score of every group, or None if no group is scored."""
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
        """Return the positions of scored groups, which have all required labels (not domain 0)."""
        if not self._constraints.require_all_keys:
            return range(len(groups))
        domains = [at for at, constraint in enumerate(self._constraints.each) if constraint is not self._by_host]
        return [position for position, group in enumerate(groups) if all(group[at] for at in domains)]

    def _places_of(self, groups: Sequence[tuple[int, ...]], positions: Sequence[int]) -> Places:
        """Return each group's pods on the host or domain, and the number of distinct values."""
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
        """Return the rounded sums over all constraints."""
        totals: list[float] | None = None
        for constraint, values, different in places:
            if constraint is self._by_host:
                scores = _scores_on_hosts(constraint, values, row_count)
            else:
                scores = _scores_in_domains(constraint, values, different)
            totals = scores if totals is None else list(map(add, totals, scores))
        return [int(total + LARGEST_BELOW_HALF) for total in totals or ()]

    def _resolve(self, classes: list[int]) -> None:
        """Decode the classes into pods on the host, or domain, by constraint and class. Cached,
        since consecutive cycles mostly have the same classes."""
        self._resolved_classes = classes
        self._resolved = []
        for constraint, stride in zip(self._constraints.each, self._strides, strict=True):
            if constraint is self._by_host:
                places = [(each - 1) % self._limit for each in classes]
            else:
                size = constraint.topology.size
                places = [(each - 1) // stride % size for each in classes]
            self._resolved.append((constraint, places, len(set(places))))

    # -- updates of the classes --------------------------------------------------------------------------------------

    def _catch_up(self, local: AnyIntColumn) -> bool:
        """Update the classes and return whether they can be used."""
        if self._nodes_seen != self._view.node_log.end:
            self._place_rows()
        if not self._usable:
            return False
        position = self._log.end
        if local is not self._local:
            self._classify(local)
        elif position != self._position:
            rows = self._log.since(self._position)
            if rows is None or len(rows) > _MAX_CHANGED_ROWS or not self._move(rows, self._local_cell):
                self._classify(local)
        self._position = position
        return self._usable

    def _move(self, rows: Collection[int], penalty: memoryview) -> bool:
        """Move single rows to their classes. Return False if one exceeds the class range."""
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
        """Assign every row to its class."""
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
        """Compute everything that depends on nodes only, including whether classes can be used."""
        self._nodes_seen = self._view.node_log.end
        self._local = None
        self._resolved_classes = []
        #: Greater than the number of matching pods on any host: each number is one class.
        self._limit = 1 << (int(self._on_host.values.max()) + 1).bit_length() if self._by_host else 1
        #: The factor of each constraint's domain in the number of a class.
        self._strides: list[int] = []
        stride = self._limit
        for constraint in self._constraints.each:
            self._strides.append(stride)
            stride *= 1 if constraint is self._by_host else constraint.topology.size
        self._size = 1 + stride
        self._usable = self._simple and self._size <= _MAX_CLASSES and not self._has_odd_rows()
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
        #: int32[classes]: normalised score by class, valid for inhabited ones after `column`.
        self._score: NDArray[np.int32] = np.zeros(self._size, np.int32)
        self._score_cell = self._score.data

    def _has_odd_rows(self) -> bool:
        """Return whether scored rows lack a host name or share a domain with unlabelled rows."""
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
    """Return normalised scores: the fewer pods, the better."""
    greatest = max(raw)
    if not greatest:
        return [MAX_NODE_SCORE] * len(raw)
    both = greatest + min(raw)
    return [MAX_NODE_SCORE * (both - score) // greatest for score in raw]


def _scores_on_hosts(constraint: SoftConstraint, counts: list[int], row_count: int) -> list[float]:
    weight, tolerated = topology_weight(row_count), float(constraint.max_skew - 1)
    return [count * weight + tolerated for count in counts]


def _scores_in_domains(constraint: SoftConstraint, domains: list[int], different: int) -> list[float]:
    """Return the scores; rows without the label are in domain 0, which adds nothing."""
    assert constraint.by_domain is not None
    weight, tolerated = topology_weight(different), float(constraint.max_skew - 1)
    count_in = constraint.by_domain.cell
    return [count_in[domain] * weight + tolerated if domain else 0.0 for domain in domains]
