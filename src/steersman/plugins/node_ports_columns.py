"""The vector form of NodePorts: only rows on which some host port is in use can be in conflict, and those are few."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steersman.framework.columns import Depends, FilterKernel, NodesView, ReasonColumn, Rows
from steersman.framework.pod_info import ANY_ADDRESS, HostPort


class TakenPorts(FilterKernel):
    """Rejects nodes on which one of the wanted ports is taken."""

    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView, wanted: frozenset[HostPort], reason: int) -> None:
        self._view = view
        self._info = view.info
        self._reason = reason
        #: In conflict when in use exactly like this: the wanted ports, and the same on every address.
        self._blocking = wanted | {(ANY_ADDRESS, protocol, port) for _, protocol, port in wanted}
        #: In conflict when in use on any address.
        self._wanted_everywhere = {(protocol, port) for ip, protocol, port in wanted if ip == ANY_ADDRESS}

    def rows(self, rows: Rows) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        for row, node in self._view.rows_with_ports.items():
            if self._conflicts(node.used_ports):
                reasons[row] = self._reason
        return reasons[rows]

    def row(self, row: int) -> int:
        used = self._info(row).used_ports
        return self._reason if used and self._conflicts(used) else 0

    def _conflicts(self, used: Mapping[HostPort, int]) -> bool:
        if not self._blocking.isdisjoint(used):
            return True
        everywhere = self._wanted_everywhere
        return bool(everywhere) and any((protocol, port) in everywhere for _, protocol, port in used)
