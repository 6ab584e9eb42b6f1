# SPDX-License-Identifier: Apache-2.0
"""The rule of NodeResourcesFit: the resources that a node lacks for a pod."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from steersman.api import Node
from steersman.framework import CORE_RESOURCES, PODS, Code, DeviceClasses, Status, is_extended, node_allocatable

REASON_TOO_MANY_PODS: Final = "Too many pods"


def insufficient_reason(resource: str) -> str:
    return f"Insufficient {resource}"


class InsufficientResource(NamedTuple):
    """One resource that the node has too little of."""

    resource: str
    reason: str
    requested: int
    used: int
    capacity: int
    #: The pod requests more than the node has in total: removing other pods cannot help.
    unresolvable: bool = False


class CheckedRequest(NamedTuple):
    """An amount that the node must have free."""

    resource: str
    amount: int
    #: Whether a device class backs the resource: DynamicResources then checks nodes without it.
    by_devices: bool = False


class Amounts(Protocol):
    """The amounts of a node that the rule needs; every `NodeInfo` has them."""

    @property
    def pod_count(self) -> int: ...
    @property
    def allowed_pods(self) -> int: ...

    def allocatable(self, resource: str) -> int: ...

    def requested(self, resource: str) -> int: ...


class EmptyNode:
    """A node without pods."""

    def __init__(self, node: Node) -> None:
        self._allocatable = node_allocatable(node)
        self.pod_count = 0
        self.allowed_pods = self._allocatable.get(PODS, 0)

    def allocatable(self, resource: str) -> int:
        return self._allocatable.get(resource, 0)

    def requested(self, resource: str) -> int:
        return 0


def insufficient_resources(requests: Iterable[CheckedRequest], node: Amounts) -> list[InsufficientResource]:
    """Return everything that the node has too little of; empty when the pod fits."""
    lacking = [] if node.pod_count < node.allowed_pods else [_too_many_pods(node)]
    for resource, wanted, by_devices in requests:
        offered, used = node.allocatable(resource), node.requested(resource)
        if by_devices and not offered:
            continue
        if wanted > offered - used:
            reason = insufficient_reason(resource)
            lacking.append(InsufficientResource(resource, reason, wanted, used, offered, unresolvable=wanted > offered))
    return lacking


def rejection(reasons: Iterable[str], unresolvable: bool) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE, tuple(reasons))


def checked_requests(
    requests: Mapping[str, int],
    ignored_resources: Collection[str] = (),
    ignored_groups: Collection[str] = (),
    classes: DeviceClasses | None = None,
) -> tuple[CheckedRequest, ...]:
    """Return the checked requests in the order of the reasons; zero requests are never checked."""
    ordered = (*CORE_RESOURCES, *sorted(requests.keys() - CORE_RESOURCES))
    return tuple(
        CheckedRequest(resource, requests[resource], classes is not None and classes.behind(resource) is not None)
        for resource in ordered
        if requests.get(resource, 0) > 0 and not is_ignored(resource, ignored_resources, ignored_groups)
    )


def is_ignored(resource: str, ignored_resources: Collection[str], ignored_groups: Collection[str]) -> bool:
    """Return whether an extended resource is left to an extender, by name or by its group."""
    if not is_extended(resource):
        return False
    return resource in ignored_resources or resource.split("/", 1)[0] in ignored_groups


def _too_many_pods(node: Amounts) -> InsufficientResource:
    return InsufficientResource(PODS, REASON_TOO_MANY_PODS, 1, node.pod_count, node.allowed_pods)
