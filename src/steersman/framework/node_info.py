# SPDX-License-Identifier: Apache-2.0
"""One node as plugins see it: the Node object and the pods that run, or are assumed to run, on it.

`state` implements it twice: over the columns, and as an overlay for what-if questions. Resource
amounts are integers: cpu in millicores, everything else in its base unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import Protocol

from steersman.api import Node
from steersman.framework.pod_info import HostPort, PodInfo


class ImageState(Protocol):
    """An image of the node, and the number of nodes that have it."""

    @property
    def size(self) -> int: ...
    @property
    def num_nodes(self) -> int: ...


class NodeInfo(Protocol):
    """Read-only view of one node with its pods."""

    @property
    def node(self) -> Node: ...
    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def annotations(self) -> Mapping[str, str]: ...

    @property
    def pods(self) -> Collection[PodInfo]:
        """All pods on the node, including terminating ones."""

    @property
    def pods_with_affinity(self) -> Collection[PodInfo]:
        """Pods on the node with any pod affinity or anti-affinity term."""

    @property
    def pods_with_required_anti_affinity(self) -> Collection[PodInfo]: ...

    @property
    def pod_count(self) -> int: ...
    @property
    def allowed_pods(self) -> int: ...

    def allocatable(self, resource: str) -> int:
        """Return the allocatable amount, or 0 if the node does not have the resource."""

    def offers(self, resource: str) -> bool:
        """Return whether the node's allocatable lists the resource, possibly with 0."""

    def requested(self, resource: str) -> int:
        """Return the sum of the requests of the pods on the node."""

    def nonzero_requested(self, resource: str) -> int:
        """Return the sum of the requests for ``cpu`` or ``memory``, with the scheduler's minimum
        for containers that request nothing."""

    @property
    def used_ports(self) -> Set[HostPort]:
        """Host ports in use. As in upstream, a port is free once one of its users is removed, even
        if another pod uses it too."""

    @property
    def image_states(self) -> Mapping[str, ImageState]:
        """Images of the node, by each of their names."""

    @property
    def claim_users(self) -> Mapping[str, int]:
        """Persistent volume claims (namespace/name) used by pods on the node, with the number of
        users."""
