# SPDX-License-Identifier: Apache-2.0
"""What both plugins of this folder score: how much of each configured resource is, and would be, allocated on a node.

The amounts stand in the order of the configured resources. A resource that does not take part in the score of this pod
on this node has 0 everywhere, and the scoring functions pass over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from steersman.config import ResourceSpec
from steersman.framework.go_integers import int64
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_resources import CPU, MEMORY, is_accounted, is_scalar
from steersman.plugins.node_resources.device_scores import DeviceAmounts

ERR_NO_RESOURCES: Final = "resources not found"

ScoreNode = Callable[[Sequence[int], Sequence[int], Sequence[int]], int]
"""Scores a node by what would be requested with the pod, what is allocated without it, and what the node offers."""

UsedAmount = Callable[[NodeInfo, str], int]
"""How much of a resource the pods on a node use."""


class Allocation(NamedTuple):
    """One amount per configured resource in each column."""

    requested: tuple[int, ...]
    allocated: tuple[int, ...]
    allocatable: tuple[int, ...]


def allocation(
    resources: Sequence[ResourceSpec],
    node: NodeInfo,
    pod_requests: Sequence[int],
    used_amount: UsedAmount,
    devices: DeviceAmounts | None = None,
) -> Allocation:
    """The state of the node with and without the pod, whose requests stand in the order of `resources`. `devices` may
    provide what the node does not offer."""
    requested, allocated, allocatable = [], [], []
    for spec, wanted in zip(resources, pod_requests, strict=True):
        offered = node.allocatable(spec.name) if takes_part(spec.name, wanted) else 0
        used = used_amount(node, spec.name) if offered else 0
        if not offered and wanted and devices is not None:
            offered, used = devices.of(node.node, spec.name)
        allocatable.append(offered)
        allocated.append(used)
        requested.append(int64(used + wanted) if offered else 0)
    return Allocation(tuple(requested), tuple(allocated), tuple(allocatable))


def takes_part(resource: str, wanted: int) -> bool:
    """Extended and other scalar resources count only for pods that request them; names without an account never."""
    return wanted != 0 if is_scalar(resource) else is_accounted(resource)


def requested_on(node: NodeInfo, resource: str) -> int:
    return node.requested(resource)


def requested_with_minimum_on(node: NodeInfo, resource: str) -> int:
    """Containers that request no cpu or memory count with the scheduler's minimum."""
    return node.nonzero_requested(resource) if resource in (CPU, MEMORY) else node.requested(resource)
