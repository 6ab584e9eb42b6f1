# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodePorts: only rows on which some host port is in use can be in conflict, and those are few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from steersman.framework.columns import AddedPods, Depends, FilterKernel, NeedsPorts
from steersman.framework.nodes_view import NodesView, ReasonColumn, Rows
from steersman.framework.pod_info import ANY_ADDRESS, HostPort, PodInfo


class TakenPorts(FilterKernel):
    """Rejects nodes on which one of the wanted ports is taken."""

    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView, wanted: frozenset[HostPort], reason: int) -> None:
        self.rule = NeedsPorts(tuple(sorted(wanted)))
        self._view = view
        self._info = view.info
        self._reason = reason
        #: Addresses and protocols by port number: most ports in use are none of the wanted ones.
        self._wanted: dict[int, list[tuple[str, str]]] = {}
        for address, protocol, port in wanted:
            self._wanted.setdefault(port, []).append((address, protocol))

    def rows(self, rows: Rows) -> ReasonColumn:
        reasons = np.zeros(self._view.capacity, np.int32)
        for row, node in self._view.rows_with_ports.items():
            if self._conflicts(node.used_ports):
                reasons[row] = self._reason
        return reasons[rows]

    def row(self, row: int) -> int:
        used = self._info(row).used_ports
        return self._reason if used and self._conflicts(used) else 0

    def row_with(self, row: int, added: Sequence[PodInfo]) -> int:
        taken = any(self._conflicts(pod.shape.host_ports) for pod in added)
        return self._reason if taken else self.row(row)

    def rows_with(self, added: AddedPods, before: ReasonColumn) -> ReasonColumn:
        for position in added.with_ports():
            if any(self._conflicts(pod.shape.host_ports) for pod in added.pods(position)):
                before[position] = self._reason
        return before

    def _conflicts(self, used: Iterable[HostPort]) -> bool:
        wanted = self._wanted
        for address, protocol, port in used:
            if port in wanted:
                for wanted_address, wanted_protocol in wanted[port]:
                    if protocol == wanted_protocol and (
                        address == wanted_address or ANY_ADDRESS in (address, wanted_address)
                    ):
                        return True
        return False
