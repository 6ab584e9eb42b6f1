# SPDX-License-Identifier: Apache-2.0
"""Which resources of a node do not suffice for a pod. Filter and the hints of NodeResourcesFit ask here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from steersman.api import Node
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.pod_resources import CORE_RESOURCES, PODS, is_extended, node_allocatable
from steersman.framework.status import Code, Status

REASON_TOO_MANY_PODS: Final = "Too many pods"


def insufficient_reason(resource: str) -> str:
    return f"Insufficient {resource}"


class InsufficientResource(NamedTuple):
    """One resource of which the node has too little left."""

    resource: str
    reason: str
    requested: int
    used: int
    capacity: int
    #: The pod asks for more than the node has in total: removing other pods cannot help.
    unresolvable: bool = False


class CheckedRequest(NamedTuple):
    """An amount of which the node must have enough left."""

    resource: str
    amount: int
    #: A class of devices stands behind the resource: nodes that offer none of it are left to DynamicResources.
    by_devices: bool = False


class Amounts(Protocol):
    """The facts that the rule needs of a node; every `NodeInfo` has it."""

    @property
    def pod_count(self) -> int: ...
    @property
    def allowed_pods(self) -> int: ...

    def allocatable(self, resource: str) -> int: ...

    def requested(self, resource: str) -> int: ...


class EmptyNode:
    """A node as if no pod were on it."""

    def __init__(self, node: Node) -> None:
        self._allocatable = node_allocatable(node)
        self.pod_count = 0
        self.allowed_pods = self._allocatable.get(PODS, 0)

    def allocatable(self, resource: str) -> int:
        return self._allocatable.get(resource, 0)

    def requested(self, resource: str) -> int:
        return 0


def insufficient_resources(requests: Iterable[CheckedRequest], node: Amounts) -> list[InsufficientResource]:
    """Everything that the node has too little of; empty when the pod fits."""
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
    """The requests that are checked, in the order of the reasons. One of zero fits even an overcommitted node."""
    ordered = (*CORE_RESOURCES, *sorted(requests.keys() - CORE_RESOURCES))
    return tuple(
        CheckedRequest(resource, requests[resource], classes is not None and classes.behind(resource) is not None)
        for resource in ordered
        if requests.get(resource, 0) > 0 and not is_ignored(resource, ignored_resources, ignored_groups)
    )


def is_ignored(resource: str, ignored_resources: Collection[str], ignored_groups: Collection[str]) -> bool:
    """Extended resources can be left to a scheduler extender, by name or by the group before the slash."""
    if not is_extended(resource):
        return False
    return resource in ignored_resources or resource.split("/", 1)[0] in ignored_groups


def _too_many_pods(node: Amounts) -> InsufficientResource:
    return InsufficientResource(PODS, REASON_TOO_MANY_PODS, 1, node.pod_count, node.allowed_pods)
