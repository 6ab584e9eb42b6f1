"""Which resources of a node do not suffice for a pod. Filter and the hints of NodeResourcesFit ask here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from steersman.api import Node
from steersman.framework.pod_resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_extended, node_allocatable

REASON_TOO_MANY_PODS: Final = "Too many pods"
#: Checked, and named in reasons, in this order; all other resources follow.
CORE_RESOURCES: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)


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


class Amounts(Protocol):
    """What the rule needs to know of a node; every `NodeInfo` has it."""

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


def insufficient_resources(
    requests: Mapping[str, int],
    node: Amounts,
    ignored_resources: Collection[str] = (),
    ignored_groups: Collection[str] = (),
) -> list[InsufficientResource]:
    """Everything that the node has too little of; empty when the pod fits."""
    lacking = [] if node.pod_count < node.allowed_pods else [_too_many_pods(node)]
    for resource in _checked_resources(requests):
        wanted, offered, used = requests[resource], node.allocatable(resource), node.requested(resource)
        if wanted <= offered - used or is_ignored(resource, ignored_resources, ignored_groups):
            continue
        reason = insufficient_reason(resource)
        lacking.append(InsufficientResource(resource, reason, wanted, used, offered, unresolvable=wanted > offered))
    return lacking


def is_ignored(resource: str, ignored_resources: Collection[str], ignored_groups: Collection[str]) -> bool:
    """Extended resources can be left to a scheduler extender, by name or by the group before the slash."""
    if not is_extended(resource):
        return False
    return resource in ignored_resources or resource.split("/", 1)[0] in ignored_groups


def _checked_resources(requests: Mapping[str, int]) -> Iterable[str]:
    """The resources that the pod requests something of. A request of zero fits even an overcommitted node."""
    ordered = (*CORE_RESOURCES, *sorted(requests.keys() - CORE_RESOURCES))
    return (resource for resource in ordered if requests.get(resource, 0) > 0)


def _too_many_pods(node: Amounts) -> InsufficientResource:
    return InsufficientResource(PODS, REASON_TOO_MANY_PODS, 1, node.pod_count, node.allowed_pods)
