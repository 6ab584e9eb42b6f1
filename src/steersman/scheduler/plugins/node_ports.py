# SPDX-License-Identifier: Apache-2.0
"""NodePorts: two pods cannot use the same host port of a node.

PreFilter skips the plugin for pods without host ports; Filter compares the pod's ports with those
in use on the node. The address ``0.0.0.0`` means every address of the node and conflicts with each
of them. The vector form checks only the rows with host ports in use, which are few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
import numpy as np

from steersman import api
from steersman.framework import (
    ANY_ADDRESS,
    SKIP,
    ActionType,
    AddedPods,
    ClusterEvent,
    ClusterEventWithHint,
    ColumnarFilter,
    CycleState,
    Depends,
    EnqueueExtensions,
    EventResource,
    FilterKernel,
    FilterPlugin,
    HostPort,
    NeedsPorts,
    NodeInfo,
    NodesView,
    PodInfo,
    PreFilterPlugin,
    QueueingHint,
    ReasonColumn,
    Rows,
    Status,
    StatusTable,
    deleted,
    error,
    host_ports,
    unschedulable,
)

ERR_REASON = "node(s) didn't have free ports for the requested pod ports"
STATE_KEY = "PreFilterNodePorts"


class RequestedPorts(msgspec.Struct, frozen=True):
    """The host ports that the pod requests, passed from PreFilter to Filter."""

    ports: tuple[HostPort, ...]


class NodePorts(PreFilterPlugin, FilterPlugin, ColumnarFilter, EnqueueExtensions):
    """Rejects nodes on which a host port of the pod is in use."""

    name = "NodePorts"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Status | None:
        if not pod.shape.host_ports:
            return SKIP
        state.write(STATE_KEY, RequestedPorts(pod.shape.host_ports))
        return None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted = state.read(STATE_KEY, RequestedPorts)
        if wanted is None:
            return error(f'reading "{STATE_KEY}" from cycleState: not found')
        return unschedulable(ERR_REASON) if ports_conflict(wanted.ports, node.used_ports) else None

    def filter_fragment(self, pod: PodInfo) -> frozenset[HostPort]:
        return frozenset(pod.shape.host_ports)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel | None:
        wanted = self.filter_fragment(pod)
        return PortsInUseKernel(view, wanted, self.statuses.id_of(unschedulable(ERR_REASON))) if wanted else None

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), self.after_pod_deleted),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
        )

    def after_pod_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Queue if the deleted pod was bound or nominated and held a port of the waiting pod."""
        gone = deleted(api.Pod, old)
        had_node = gone.spec.node_name or gone.status.nominated_node_name
        if had_node and ports_conflict(host_ports(waiting.spec), tuple(host_ports(gone.spec))):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP


def ports_conflict(wanted: Iterable[HostPort], used: Collection[HostPort]) -> bool:
    """Return whether any of the wanted host ports is in use."""
    return any(_same_port(one, other) for one in wanted for other in used)


def _same_port(one: HostPort, other: HostPort) -> bool:
    address, protocol, port = one
    other_address, other_protocol, other_port = other
    if (protocol, port) != (other_protocol, other_port):
        return False
    return address == other_address or ANY_ADDRESS in (address, other_address)


# -- the vector form ---------------------------------------------------------------------------------------------------


class PortsInUseKernel(FilterKernel):
    """Rejects nodes on which one of the wanted ports is in use."""

    depends = Depends.NODE_PODS

    def __init__(self, view: NodesView, wanted: frozenset[HostPort], reason: int) -> None:
        self.rule = NeedsPorts(tuple(sorted(wanted)))
        self._view = view
        self._info = view.info
        self._reason = reason
        #: Addresses and protocols by port number, to dismiss unrelated ports with one lookup.
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
