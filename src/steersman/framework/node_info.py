# SPDX-License-Identifier: Apache-2.0
"""One node as a plugin sees it: the Node object and the pods that run, or are assumed to run, on it.

`state` implements this twice: over the columns, and as an overlay for "what if" questions. Resource amounts are integers:
cpu in millicores, everything else in its base unit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import Protocol

from steersman.api import Node
from steersman.framework.pod_info import HostPort, PodInfo


class ImageState(Protocol):
    """One image that the node has, and on how many nodes of the cluster it is."""

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
        """All pods on the node, terminating ones included."""

    @property
    def pods_with_affinity(self) -> Collection[PodInfo]:
        """The pods on the node with any pod affinity or anti-affinity term."""

    @property
    def pods_with_required_anti_affinity(self) -> Collection[PodInfo]: ...

    @property
    def pod_count(self) -> int: ...
    @property
    def allowed_pods(self) -> int: ...

    def allocatable(self, resource: str) -> int:
        """The amount that the node offers; 0 for a resource that it does not have."""

    def offers(self, resource: str) -> bool:
        """Whether the node's allocatable names the resource at all (an extended resource may be listed with 0)."""

    def requested(self, resource: str) -> int:
        """Sum of the requests of the pods on the node."""

    def nonzero_requested(self, resource: str) -> int:
        """Sum of the requests of ``cpu`` or ``memory`` with the scheduler's minimum for containers that request nothing."""

    @property
    def used_ports(self) -> Set[HostPort]:
        """Host ports in use. As upstream has it, a port is free once one of its users has gone, even if another pod holds
        it too."""

    @property
    def image_states(self) -> Mapping[str, ImageState]:
        """The images of the node, by every name that each has."""

    @property
    def claim_users(self) -> Mapping[str, int]:
        """Persistent volume claims (namespace/name) used by pods on the node, with the number of users."""
