# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeVolumeLimits: rows that are far from every limit pass unseen, the others are looked at.

The number of volumes on a node, whatever their drivers, bounds the number of any driver's. It is counted per row and kept;
only where it does not rule out that a limit is exceeded does the scalar form decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from steersman import api
from steersman.api import CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from steersman.bounded_table import RecentTable
from steersman.framework.columns import ClusterFilterKernel, StatusTable
from steersman.framework.handle import Objects
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import (
    BoolColumn,
    IntColumn,
    NodesView,
    ReasonColumn,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.plugins.node_volume_limits.attachments import AttachableVolumes, Attachments, may_attach, volume_limits

#: Higher than any limit.
UNLIMITED = 1 << 40
_KINDS = (CSIDriver, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment)
_SOME_NODE = CSINode()
_MOST_SHAPES = 1 << 10


class RowVolumes:
    """Volumes, attachments and limits per row, for all pods. One per table of nodes."""

    def __init__(self, view: NodesView, objects: Objects, attachments: Attachments) -> None:
        self.view = view
        self.generation = view.generation
        self._objects = objects
        self._attachments = attachments
        #: Position in the log at which the following two were exact; None: never.
        self._position: int | None = None
        #: Volumes of pods on the row, each counted as often as it is used.
        self._uses: IntColumn = np.zeros(view.capacity, np.int64)
        #: Rows with a volume that may turn out to be a fault: those made for a pod, and in-tree disks.
        self._doubtful: BoolColumn = np.zeros(view.capacity, np.bool_)
        #: By shape of a pod: the number of its volumes, and whether one is doubtful.
        self._by_shape: RecentTable[object, tuple[int, bool]] = RecentTable(_MOST_SHAPES)
        self._limits: dict[str, IntColumn] = {}
        self._limited: BoolColumn = self._doubtful
        self._attached: IntColumn = self._uses
        self._objects_as_of: Hashable = None

    def suspicious(self, coming: Counter[str]) -> Iterable[int]:
        """The rows that may not have room for so many more volumes of each driver, or may be a fault."""
        self._count_uses()
        self._read_objects()
        present = self._uses + self._attached
        rows = self._doubtful & self._limited
        for driver, count in coming.items():
            limit = self._limits.get(driver)
            if limit is not None:
                rows = rows | (present + count > limit)
        return (rows & self.view.alive).nonzero()[0].tolist()

    def _count_uses(self) -> None:
        log = self.view.log
        changed = None if self._position is None else log.since(self._position)
        if changed is None:
            changed = range(self.view.capacity)
        for row in changed:
            self._uses[row], self._doubtful[row] = self._of_row(row) if self.view.alive[row] else (0, False)
        self._position = log.end

    def _of_row(self, row: int) -> tuple[int, bool]:
        uses, doubtful = 0, False
        for pod in self.view.info(row).pods:
            known = self._by_shape.get(pod.shape.token)
            if known is None:
                known = _volumes_of(pod.pod)
                self._by_shape.put(pod.shape.token, known)
            uses += known[0]
            doubtful = doubtful or known[1]
        return uses, doubtful

    def _read_objects(self) -> None:
        """Limits and attachments by row."""
        as_of = (self._objects.version(CSINode), self._objects.version(VolumeAttachment), self.view.node_log.end)
        if as_of == self._objects_as_of:
            return
        self._limits = {}
        self._limited = np.zeros(self.view.capacity, np.bool_)
        for node in self._objects.list(CSINode):
            row = self.view.row_of(node.metadata.name)
            if row is not None:
                self._read_limits(node, row)
        self._attached = np.zeros(self.view.capacity, np.int64)
        for name, count in self._attachments.counts():
            row = self.view.row_of(name)
            if row is not None:
                self._attached[row] = count
        self._objects_as_of = as_of

    def _read_limits(self, node: CSINode, row: int) -> None:
        for driver, limit in volume_limits(node).items():
            column = self._limits.get(driver)
            if column is None:
                column = self._limits[driver] = np.full(self.view.capacity, UNLIMITED, np.int64)
            column[row] = limit
            self._limited[row] = True


class LimitedRows(ClusterFilterKernel):
    """The filter of one pod. `check` is the scalar filter."""

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
        """`every_row`: limits are not all that counts, so that no row passes unseen."""
        self._every_row = every_row
        self._pod = pod
        self._check = check
        self._volumes = volumes
        self._rows = rows
        self._view = rows.view
        self._objects = objects
        self._statuses = statuses
        self._seen: Hashable = None
        self._reasons: ReasonColumn = np.zeros(self._view.capacity, np.int32)
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
        version = (self._view.log.end, tuple([self._objects.version(kind) for kind in _KINDS]))
        if version != self._seen:
            self._reasons = self._work_out()
            self._seen = version
        return self._reasons

    def _work_out(self) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        self._broken_rows = set()
        new = self._volumes.of_new(self._pod.pod, _SOME_NODE)
        if isinstance(new, Status) or (new and self._every_row):
            rows: Iterable[int] = self._view.alive.nonzero()[0].tolist()
        elif not new:
            return reasons
        else:
            rows = self._rows.suspicious(Counter(new.values()))
        for row in rows:
            reasons[row] = self._ask(row)
        return reasons

    def _ask(self, row: int) -> int:
        status = self._check(self._view.info(row))
        if status is None:
            return 0
        if not status.is_rejected:
            self._broken_rows.add(row)
        return self._statuses.id_of(status)


def _volumes_of(pod: api.Pod) -> tuple[int, bool]:
    volumes = [volume for volume in pod.spec.volumes if may_attach(volume)]
    return len(volumes), any(volume.persistent_volume_claim is None for volume in volumes)
