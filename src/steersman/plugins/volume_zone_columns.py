# SPDX-License-Identifier: Apache-2.0
"""The vector form of VolumeZone: zones and regions of the pod's volumes against the nodes' label columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np

from steersman.api.selectors import Operator, Requirement
from steersman.framework.columns import ClusterFilterKernel
from steersman.framework.nodes_view import BoolColumn, NodesView, ReasonColumn
from steersman.framework.status import Status

#: Label key and the values of which a node must have one.
Condition = tuple[str, frozenset[str]]


class ZonedRows(ClusterFilterKernel):
    """The filter of one pod. `prepare` is PreFilter: the conditions, or what stands against the pod."""

    refusal_varies = True

    def __init__(
        self,
        view: NodesView,
        prepare: Callable[[], Iterable[Condition] | Status],
        as_of: Callable[[], Hashable],
        topology_labels: Iterable[str],
        present_label: Mapping[str, str],
        reason: int,
    ) -> None:
        self._view = view
        self._prepare = prepare
        self._version = as_of
        self._topology_labels = tuple(topology_labels)
        self._present_label = present_label
        self._reason = reason
        self._seen: Hashable = None
        self._conditions: tuple[Condition, ...] = ()
        self._refusal: Status | None = None

    def skipped(self) -> bool:
        self._catch_up()
        return self._refusal is None and not self._conditions

    def refusal(self) -> Status | None:
        self._catch_up()
        return self._refusal

    def rejected(self) -> BoolColumn | None:
        """Label columns follow the nodes, so that nothing has to be kept here."""
        self._catch_up()
        if not self._conditions:
            return None
        rejected = np.zeros(self._view.capacity, np.bool_)
        for key, values in self._conditions:
            rejected |= ~self._admitted(key, values)
        rejected &= self._zoned()
        return rejected

    def reasons(self) -> ReasonColumn:
        rejected = self.rejected()
        if rejected is None:
            return np.zeros(self._view.capacity, np.int32)
        return np.where(rejected, np.int32(self._reason), np.int32(0))

    def _catch_up(self) -> None:
        version = self._version()
        if version != self._seen:
            prepared = self._prepare()
            self._refusal = prepared if isinstance(prepared, Status) else None
            self._conditions = () if isinstance(prepared, Status) else tuple(prepared)
            self._seen = version

    def _zoned(self) -> BoolColumn:
        """Rows that have any of the labels; the others take every volume."""
        zoned = np.zeros(self._view.capacity, np.bool_)
        for key in self._topology_labels:
            zoned |= self._has(key)
        return zoned

    def _admitted(self, key: str, values: frozenset[str]) -> BoolColumn:
        present = self._present_label.get(key, key)
        return self._is_one_of(key, values) | (~self._has(key) & self._is_one_of(present, values))

    def _has(self, key: str) -> BoolColumn:
        return self._view.requirement(Requirement(key, Operator.EXISTS))

    def _is_one_of(self, key: str, values: frozenset[str]) -> BoolColumn:
        return self._view.requirement(Requirement(key, Operator.IN, tuple(sorted(values))))
