# SPDX-License-Identifier: Apache-2.0
"""A node with its pods in plain Python: the reference for the columns, and the overlay for what-if
questions.

Filtering with nominated pods and the preemption dry run copy a node into a `PlainNodeInfo`, add or
remove pods there and call the plugins again. Property tests compare it with the columns.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Self

from steersman.api import Node
from steersman.framework import HostPort, ImageState, NodeInfo, PodInfo, int64, node_allocatable
from steersman.scheduler.state.row_info import RowNodeInfo

PODS = "pods"


class PlainNodeInfo:
    """Implements `framework.NodeInfo` with sums of its own, updated by `add_pod` and
    `remove_pod`."""

    def __init__(
        self,
        node: Node,
        pods: Iterable[PodInfo] = (),
        image_states: Mapping[str, ImageState] | None = None,
        allocatable: Mapping[str, int] | None = None,
    ) -> None:
        """`allocatable` is the `node_allocatable` of the node, if known."""
        self.node = node
        self._allocatable = node_allocatable(node) if allocatable is None else allocatable
        self._image_states = image_states or {}
        self._pods: dict[str, PodInfo] = {}
        self._requested: dict[str, int] = {}
        self._nonzero_requested: dict[str, int] = {}
        self._used_ports: set[HostPort] = set()
        self._claim_users: dict[str, int] = {}
        for pod in pods:
            self.add_pod(pod)

    @classmethod
    def copy_of(cls, other: NodeInfo) -> Self:
        if isinstance(other, cls):
            return other.copy()
        offered = other.offered_amounts if isinstance(other, RowNodeInfo) else None
        copied = cls(other.node, other.pods, other.image_states, offered)
        copied._used_ports = set(other.used_ports)
        return copied

    def copy(self) -> Self:
        """Return a copy of the node."""
        copied = copy.copy(self)
        copied._pods = self._pods.copy()
        copied._requested = self._requested.copy()
        copied._nonzero_requested = self._nonzero_requested.copy()
        copied._used_ports = self._used_ports.copy()
        copied._claim_users = self._claim_users.copy()
        return copied

    def add_pod(self, pod: PodInfo) -> None:
        self._pods[pod.uid] = pod
        self._apply(pod, 1)

    def remove_pod(self, pod: PodInfo) -> None:
        """Remove the pod with this uid; raise KeyError if it is not here."""
        self._apply(self._pods.pop(pod.uid), -1)

    def _apply(self, pod: PodInfo, sign: int) -> None:
        shape, requested, nonzero = pod.shape, self._requested, self._nonzero_requested
        for resource, amount in shape.requests.items():
            requested[resource] = int64(requested.get(resource, 0) + sign * amount)
        nonzero["cpu"] = int64(nonzero.get("cpu", 0) + sign * shape.nonzero_cpu)
        nonzero["memory"] = int64(nonzero.get("memory", 0) + sign * shape.nonzero_memory)
        if shape.host_ports:
            (self._used_ports.update if sign > 0 else self._used_ports.difference_update)(shape.host_ports)
        if pod.claims:
            _count(self._claim_users, pod.claims, sign)

    @property
    def name(self) -> str:
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.node.metadata.annotations

    @property
    def pods(self) -> Collection[PodInfo]:
        return self._pods.values()

    @property
    def pods_with_affinity(self) -> Collection[PodInfo]:
        return [p for p in self._pods.values() if p.shape.has_affinity]

    @property
    def pods_with_required_anti_affinity(self) -> Collection[PodInfo]:
        return [p for p in self._pods.values() if p.shape.required_anti_affinity]

    @property
    def pod_count(self) -> int:
        return len(self._pods)

    @property
    def allowed_pods(self) -> int:
        return self._allocatable.get(PODS, 0)

    def allocatable(self, resource: str) -> int:
        return self._allocatable.get(resource, 0)

    def offers(self, resource: str) -> bool:
        return resource in self._allocatable

    def requested(self, resource: str) -> int:
        return self._requested.get(resource, 0)

    def nonzero_requested(self, resource: str) -> int:
        return self._nonzero_requested.get(resource, 0)

    @property
    def used_ports(self) -> Set[HostPort]:
        return self._used_ports

    @property
    def image_states(self) -> Mapping[str, ImageState]:
        return self._image_states

    @property
    def claim_users(self) -> Mapping[str, int]:
        return self._claim_users


def _count(counts: dict[str, int], keys: Iterable[str], sign: int) -> None:
    for key in keys:
        count = counts.get(key, 0) + sign
        if count > 0:
            counts[key] = count
        else:
            counts.pop(key, None)
