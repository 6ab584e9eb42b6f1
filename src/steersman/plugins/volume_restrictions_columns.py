# SPDX-License-Identifier: Apache-2.0
"""The vector form of VolumeRestrictions: an exclusive claim in use rejects every row; disks are looked at node by node.

Disks that pods name directly are a thing of the past, so that they get no columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from steersman.framework.columns import ClusterFilterKernel, StatusTable
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import BoolColumn, NodesView, ReasonColumn
from steersman.framework.status import Status, is_skip

#: The filter of one node after PreFilter.
Filter = Callable[[NodeInfo], Status | None]


class RestrictedRows(ClusterFilterKernel):
    """The filter of one pod. `prepare` is PreFilter: a filter, or what it says of the pod."""

    refusal_varies = True

    def __init__(
        self,
        view: NodesView,
        prepare: Callable[[], Filter | Status],
        as_of: Callable[[], Hashable],
        has_disks: bool,
        statuses: StatusTable,
    ) -> None:
        self._view = view
        self._prepare = prepare
        self._version = as_of
        self._has_disks = has_disks
        self._statuses = statuses
        self._seen: Hashable = None
        self._prepared: Filter | Status | None = None
        self._reasons: ReasonColumn | None = None

    def skipped(self) -> bool:
        self._catch_up()
        return isinstance(self._prepared, Status) and is_skip(self._prepared)

    def refusal(self) -> Status | None:
        self._catch_up()
        return self._prepared if isinstance(self._prepared, Status) and not is_skip(self._prepared) else None

    def rejected(self) -> BoolColumn | None:
        reasons = self.reasons()
        return reasons != 0 if reasons.any() else None

    def reasons(self) -> ReasonColumn:
        self._catch_up()
        if self._reasons is None:
            self._reasons = self._work_out()
        return self._reasons

    def _catch_up(self) -> None:
        version = (self._version(), self._view.log.end)
        if version != self._seen:
            self._prepared = self._prepare()
            self._reasons = None
            self._seen = version

    def _work_out(self) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        check = self._prepared
        rows = self._view.alive.nonzero()[0]
        if check is None or isinstance(check, Status) or not len(rows):
            return reasons
        if not self._has_disks:
            # Without disks the answer is the same everywhere.
            reasons[rows] = self._ask(check, int(rows[0]))
            return reasons
        for row in rows.tolist():
            reasons[row] = self._ask(check, row)
        return reasons

    def _ask(self, check: Filter, row: int) -> int:
        status = check(self._view.info(row))
        return 0 if status is None else self._statuses.id_of(status)
