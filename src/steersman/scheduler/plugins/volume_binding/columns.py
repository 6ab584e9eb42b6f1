# SPDX-License-Identifier: Apache-2.0
"""The vector form of the plugin: kernels over `row_finder`.

Filter only decides whether a node fits and why not; Reserve finds the volumes for the chosen node.
The results are cached until a claim, a volume, a storage object or a node changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from steersman.api import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from steersman.base import CacheSpec, Memo
from steersman.framework import (
    AnyIntColumn,
    BoolColumn,
    ClusterFilterKernel,
    ClusterScoreKernel,
    Feasible,
    IntColumn,
    Objects,
    PodInfo,
    PodLimits,
    ReasonColumn,
    Status,
    StatusTable,
    error,
    limits_by_node,
    unresolvable,
)
from steersman.scheduler.plugins.volume_binding.claims import PodClaims
from steersman.scheduler.plugins.volume_binding.row_finder import (
    BOUND_REASONS,
    BROKEN,
    PV_NOT_EXIST,
    WAITING_REASONS,
    RowFinder,
)

#: Never shown: the scalar form then produces the exact message.
ERR_BROKEN = "an object that the volumes depend on is broken"
_KINDS = (StorageClass, CSINode, CSIDriver, CSIStorageCapacity)


USABLE_ROWS = CacheSpec(
    name="rows where volumes can be used",
    attributes=("UsableRows._prepared", "UsableRows._reasons", "UsableRows._rejected", "UsableRows._broken_rows"),
    contents="the pod's claims, and why VolumeBinding rejects a row",
    key="one for each pod with claims",
    invalidation="versions of assumed claims and volumes and of storage objects, end of the log of changed nodes (`Memo`)",
    limit="lives as long as the pod's evaluation",
    reference="the scalar filter of every row",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class UsableRows(ClusterFilterKernel):
    """Filters the rows for one pod. `prepare` runs PreFilter: it returns claims or a status."""

    refusal_varies = True
    may_break = True

    def __init__(
        self,
        prepare: Callable[[], PodClaims | Status],
        believed: Callable[[], Hashable],
        rows: RowFinder,
        objects: Objects,
        statuses: StatusTable,
    ) -> None:
        self._prepare = prepare
        self._believed = believed
        self._rows = rows
        self._objects = objects
        self._statuses = statuses
        self._prepared: Memo[PodClaims | Status] = Memo()
        self._reasons: Memo[ReasonColumn] = Memo()
        #: The rejected and the broken rows of the current reasons.
        self._rejected: BoolColumn | None = None
        self._broken_rows: list[int] = []

    def skipped(self) -> bool:
        return False

    def refusal(self) -> Status | None:
        prepared = self._prepared.get(self._as_of(), self._prepare)
        return prepared if isinstance(prepared, Status) else None

    def rejected(self) -> BoolColumn | None:
        self.reasons()
        return self._rejected

    @property
    def broken_rows(self) -> list[int]:
        self.reasons()
        return self._broken_rows

    def reasons(self) -> ReasonColumn:
        as_of = self._as_of()
        prepared = self._prepared.get(as_of, self._prepare)
        return self._reasons.get(as_of, lambda: self._judge(prepared))

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits | None:
        return None if self.broken_rows else limits_by_node(self.reasons())

    def _as_of(self) -> Hashable:
        versions = tuple([self._objects.version(kind) for kind in _KINDS])
        return self._believed(), self._rows.view.node_log.end, versions

    def _judge(self, prepared: PodClaims | Status) -> ReasonColumn:
        reasons = self._work_out(prepared)
        self._rejected = reasons != 0 if reasons.any() else None
        return reasons

    def _work_out(self, claims: PodClaims | Status) -> ReasonColumn:
        self._broken_rows = []
        if isinstance(claims, Status):
            return np.zeros(self._rows.view.capacity, np.int32)
        bound, waiting = self._rows.bound_codes(claims.bound), self._rows.waiting_codes(claims)
        broken = (bound == BROKEN) | (waiting == BROKEN)
        if broken.any():
            self._broken_rows = (broken & self._rows.view.alive).nonzero()[0].tolist()
        codes = range(BROKEN + 1)
        ids = np.array([[self._reason_id(b, w) for w in codes] for b in codes], np.int32)
        return ids[bound, waiting]

    def _reason_id(self, bound: int, waiting: int) -> int:
        """Return the reason id, with the reasons in the order of `VolumeFinder.find`."""
        if BROKEN in (bound, waiting):
            return self._statuses.id_of(error(ERR_BROKEN))
        reasons = [BOUND_REASONS[bound], WAITING_REASONS[waiting]]
        if bound == PV_NOT_EXIST:
            reasons.reverse()
        known = [reason for reason in reasons if reason]
        return self._statuses.id_of(unresolvable(*known)) if known else 0


class ScoredRows(ClusterScoreKernel):
    """The score of one pod, row by row, if the feature StorageCapacityScoring is on."""

    def __init__(self, score: Callable[[int], int], capacity: int) -> None:
        self._score = score
        self._capacity = capacity

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        scores = np.zeros(self._capacity, np.int64)
        for row in feasible.rows.tolist():
            scores[row] = self._score(row)
        return scores

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        return self.raw(feasible)
