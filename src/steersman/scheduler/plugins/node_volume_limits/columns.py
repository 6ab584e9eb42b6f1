# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeVolumeLimits: only rows that may be near a limit are counted exactly.

The cached number of volumes per row, of any driver, is an upper bound for each driver. Where it
does not prove that all limits hold, `counted_rows` counts distinct volumes by driver, and one
comparison of columns decides for all of these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from steersman import api
from steersman.api import CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from steersman.base import CacheSpec, LruCache, Memo, SharedMemo
from steersman.base.graph_copy import shared_by_copies
from steersman.framework import (
    BoolColumn,
    ClusterFilterKernel,
    IntColumn,
    NodeInfo,
    NodesView,
    Objects,
    PodInfo,
    PodLimits,
    ReasonColumn,
    Status,
    StatusTable,
    unschedulable,
)
from steersman.scheduler.plugins.node_volume_limits.attachments import (
    Attachable,
    AttachableVolumes,
    Attachments,
    may_attach,
    volume_limits,
)
from steersman.scheduler.plugins.node_volume_limits.counted_rows import CountedRows

ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED = "node(s) exceed max volume count"
EXCEEDED = unschedulable(ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED)
#: Higher than any limit.
UNLIMITED = 1 << 40
_KINDS = (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)
_SOME_NODE = CSINode()
_MAX_SHAPES = 1 << 10


@shared_by_copies
class AttachmentLimits:
    """The volume limits of each row. Never changed after construction."""

    def __init__(self, view: NodesView, nodes: Iterable[CSINode]) -> None:
        #: int64[capacity] by driver: the maximum number of its volumes.
        self.by_driver: dict[str, IntColumn] = {}
        #: bool[capacity]: whether any driver has a limit there.
        self.limited: BoolColumn = np.zeros(view.capacity, np.bool_)
        for node in nodes:
            row = view.row_of(node.metadata.name)
            for driver, limit in volume_limits(node).items() if row is not None else ():
                column = self.by_driver.get(driver)
                if column is None:
                    column = self.by_driver[driver] = np.full(view.capacity, UNLIMITED, np.int64)
                column[row] = limit
                self.limited[row] = True


ROW_VOLUMES = CacheSpec(
    name="volumes by row",
    attributes=("RowVolumes._uses", "RowVolumes._doubtful", "RowVolumes._position"),
    contents="the number of volumes the pods of a row use, and whether one may cause an error",
    key="row",
    invalidation="position in the log of changed rows: those are recounted; number of rows: rebuilt",
    limit="one for each table of nodes",
    reference="`RowVolumes._row_result` of every row",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
    is_inline=True,
)


VOLUMES_BY_SHAPE = CacheSpec(
    name="volumes by shape",
    attributes=("RowVolumes._by_shape",),
    contents="the number of volumes a pod uses, and whether one may cause an error",
    key="token of the shape",
    invalidation="never: a shape does not change",
    limit="1,024 shapes, most recently used (`LruCache`)",
    reference="`_volumes_of` the pod",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


ATTACHMENT_LIMITS = CacheSpec(
    name="attachment limits by row",
    attributes=("RowVolumes._limits",),
    contents="the number of volumes of a driver that a node can attach",
    key="row",
    invalidation="version of CSINode objects, end of the log of changed nodes (`Memo`); shared by forks",
    limit="one for each table of nodes",
    reference="`AttachmentLimits` of all CSINodes",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


ATTACHED_VOLUMES = CacheSpec(
    name="attachments by row",
    attributes=("RowVolumes._attached",),
    contents="how many VolumeAttachments name the row's node",
    key="row",
    invalidation="version of VolumeAttachment objects, end of the log of changed nodes (`Memo`); shared by forks",
    limit="one for each table of nodes",
    reference="`RowVolumes._count_attached`",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class RowVolumes:
    """Volumes, attachments and limits per row, for all pods. One instance per table of nodes."""

    def __init__(self, view: NodesView, objects: Objects, attachments: Attachments) -> None:
        self.view = view
        self._objects = objects
        self._attachments = attachments
        #: Log position at which the next two attributes were exact; None before the first count.
        self._position: int | None = None
        #: Volumes of pods on the row, each counted once per use.
        self._uses: IntColumn = np.zeros(view.capacity, np.int64)
        #: Rows with ephemeral or in-tree volumes, which may turn out to be faulty.
        self._doubtful: BoolColumn = np.zeros(view.capacity, np.bool_)
        #: By shape of a pod: the number of its volumes, and whether one is doubtful.
        self._by_shape: LruCache[object, tuple[int, bool]] = LruCache(_MAX_SHAPES)
        self._limits: SharedMemo[AttachmentLimits] = SharedMemo()
        self._attached: SharedMemo[IntColumn] = SharedMemo()
        self._counted = CountedRows(view, objects, attachments)

    def are_of(self, view: NodesView) -> bool:
        """Return whether the columns cover all rows of this table. Its generation does not matter,
        and copies in a simulation use the columns of their own table."""
        return view is self.view and view.capacity == len(self._uses)

    def exceeded(self, new: Attachable) -> tuple[BoolColumn, Mapping[int, Status]]:
        """Return the rows on which the new volumes exceed a limit, and faults of existing volumes
        by row, which take precedence over limits."""
        coming = Counter(new.values())
        limits = self._current_limits()
        suspicious = self._suspicious(coming, limits)
        counted = self._counted
        counted.catch_up(suspicious)
        counted.keep_drivers(limits.by_driver)
        exceeded = np.zeros(self.view.capacity, np.bool_)
        if suspicious:
            for driver, count in coming.items():
                if driver in limits.by_driver:
                    more = self._not_in_use(new, driver, count)
                    exceeded |= (more > 0) & (counted.of_driver(driver) + more > limits.by_driver[driver])
        near = np.zeros(self.view.capacity, np.bool_)
        near[suspicious] = True
        return exceeded & near, counted.faults(suspicious)

    def _not_in_use(self, new: Attachable, driver: str, count: int) -> IntColumn:
        """Return how many of the `count` new volumes of the driver are not in use yet, by row."""
        more = np.full(self.view.capacity, count, np.int64)
        for volume, of in new.items():
            users = self._counted.rows_using(volume) if of == driver else ()
            if users:
                more[list(users)] -= 1
        return more

    def _suspicious(self, coming: Counter[str], limits: AttachmentLimits) -> list[int]:
        """Return the rows that may lack room for the new volumes by driver, or may be faulty."""
        self._count_uses()
        present = self._uses + self._current_attached()
        rows = self._doubtful & limits.limited
        for driver, count in coming.items():
            limit = limits.by_driver.get(driver)
            if limit is not None:
                rows = rows | (present + count > limit)
        found: list[int] = (rows & self.view.alive).nonzero()[0].tolist()
        return found

    def _count_uses(self) -> None:
        log = self.view.log
        changed = None if self._position is None else log.since(self._position)
        self._counted.forget(changed)
        for row in range(self.view.capacity) if changed is None else changed:
            self._uses[row], self._doubtful[row] = self._row_result(row) if self.view.alive[row] else (0, False)
        self._position = log.end

    def _row_result(self, row: int) -> tuple[int, bool]:
        uses, doubtful = 0, False
        for pod in self.view.info(row).pods:
            known = self._by_shape.get(pod.shape.token)
            if known is None:
                known = _volumes_of(pod.pod)
                self._by_shape.put(pod.shape.token, known)
            uses += known[0]
            doubtful = doubtful or known[1]
        return uses, doubtful

    def _current_limits(self) -> AttachmentLimits:
        as_of = (self._objects.version(CSINode), self.view.node_log.end)
        return self._limits.get(as_of, lambda: AttachmentLimits(self.view, self._objects.list(CSINode)))

    def _current_attached(self) -> IntColumn:
        as_of = (self._objects.version(VolumeAttachment), self.view.node_log.end)
        return self._attached.get(as_of, self._count_attached)

    def _count_attached(self) -> IntColumn:
        attached = np.zeros(self.view.capacity, np.int64)
        for name, count in self._attachments.counts():
            row = self.view.row_of(name)
            if row is not None:
                attached[row] = count
        return attached


LIMITED_ROWS = CacheSpec(
    name="rows beyond a volume limit",
    attributes=("LimitedRows._reasons", "LimitedRows._broken_rows"),
    contents="why NodeVolumeLimits rejects a row for one pod",
    key="one for each pod with volumes",
    invalidation="end of the log of changed rows, versions of the objects behind volumes (`Memo`)",
    limit="lives as long as the pod's evaluation",
    reference="the scalar filter of every row",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class LimitedRows(ClusterFilterKernel):
    """Filters the rows for one pod. `check` is the scalar filter."""

    may_break = True

    def __init__(
        self,
        pod: PodInfo,
        check: Callable[[NodeInfo], Status | None],
        volumes: AttachableVolumes,
        rows: RowVolumes,
        objects: Objects,
        statuses: StatusTable,
        every_row: bool,
    ) -> None:
        """With `every_row`, check all rows, because limits are not the only condition."""
        self._every_row = every_row
        self._pod = pod
        self._check = check
        self._volumes = volumes
        self._rows = rows
        self._view = rows.view
        self._objects = objects
        self._statuses = statuses
        self._reasons: Memo[ReasonColumn] = Memo()
        self._broken_rows: set[int] = set()

    def skipped(self) -> bool:
        return False

    def rejected(self) -> BoolColumn | None:
        reasons = self.reasons()
        return reasons != 0 if reasons.any() else None

    @property
    def broken_rows(self) -> set[int]:
        self.reasons()
        return self._broken_rows

    def reasons(self) -> ReasonColumn:
        as_of = (self._view.log.end, tuple([self._objects.version(kind) for kind in _KINDS]))
        return self._reasons.get(as_of, self._work_out)

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits | None:
        """Return no limits if no row is rejected and no added pod has volumes, or else None."""
        is_harmless = self.rejected() is None and not any(_volumes_of(pod.pod)[0] for pod in coming)
        return PodLimits() if is_harmless else None

    def _work_out(self) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        self._broken_rows = set()
        new = self._volumes.of_new(self._pod.pod, _SOME_NODE)
        if isinstance(new, Status) or (new and self._every_row):
            rows = self._view.alive.nonzero()[0].tolist()
            self._note(reasons, {row: self._check(self._view.info(row)) for row in rows})
        elif new:
            exceeded, faults = self._rows.exceeded(new)
            reasons[exceeded] = self._statuses.id_of(EXCEEDED)
            self._note(reasons, faults)
        return reasons

    def _note(self, reasons: ReasonColumn, statuses: Mapping[int, Status | None]) -> None:
        """Write the statuses of rows into the column of reasons."""
        for row, status in statuses.items():
            if status is not None:
                reasons[row] = self._statuses.id_of(status)
                if not status.is_rejected:
                    self._broken_rows.add(row)


def _volumes_of(pod: api.Pod) -> tuple[int, bool]:
    volumes = [volume for volume in pod.spec.volumes if may_attach(volume)]
    return len(volumes), any(volume.persistent_volume_claim is None for volume in volumes)
