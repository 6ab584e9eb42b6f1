# SPDX-License-Identifier: Apache-2.0
"""Extended resources backed by devices, and the claim that the scheduler creates for them.

Until the pod is bound, the claim exists in memory only, under an invalid name. Its requests depend
on the node: resources that the node offers itself are not included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.api import quantity as quantities
from steersman.framework import DeviceClasses, NodeInfo, may_be_devices, pod_requests

#: The name of a claim that has not been written.
IN_MEMORY: Final = "<extended-resources>"
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"

REASON_STALE: Final = "cannot schedule extended resource claim"
REASON_NOT_OFFERED: Final = "cannot fit resource"

Mapped = api.ContainerExtendedResourceRequest


class NodeClaim(msgspec.Struct, frozen=True):
    """The claim with the requests for one node."""

    claim: api.ResourceClaim
    #: The request that serves each resource of each container.
    mappings: tuple[Mapped, ...]


def device_backed(pod: api.Pod, classes: DeviceClasses) -> dict[str, int]:
    """Return all requested extended resources if a class backs at least one of them, or else {}."""
    if not classes:
        return {}
    wanted = {name: n for name, n in pod_requests(pod, status=False).items() if n and may_be_devices(name)}
    return wanted if any(classes.behind(name) is not None for name in wanted) else {}


def owner_of(claim: api.ResourceClaim) -> str | None:
    """Return the uid of the pod whose extended resources the claim is for, or None."""
    if claim.metadata.annotations.get(ANNOTATION) != "true":
        return None
    return next((owner.uid for owner in claim.metadata.owner_references if owner.controller), None)


def in_memory_uid(pod: api.Pod) -> str:
    """Return the uid of the pod's claim while it exists in memory only."""
    return f"{IN_MEMORY}{pod.metadata.uid}"


def claim_in_memory(pod: api.Pod) -> api.ResourceClaim:
    """Return the unwritten claim without requests, which depend on the node."""
    meta = pod.metadata
    owner = api.OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)
    return api.ResourceClaim(
        metadata=api.ObjectMeta(
            name=IN_MEMORY,
            namespace=meta.namespace,
            uid=in_memory_uid(pod),
            generate_name=f"{meta.name}-extended-resources-",
            owner_references=(owner,),
            annotations={ANNOTATION: "true"},
        )
    )


def served_by_devices(wanted: Mapping[str, int], node: NodeInfo, classes: DeviceClasses) -> list[str] | None:
    """Return the resources to be served by devices, sorted, or None if one is not available."""
    served: list[str] = []
    for name in sorted(wanted):
        if classes.behind(name) is not None and node.allocatable(name) == 0:
            served.append(name)
        elif not node.offers(name):
            return None
    return served


def claim_for_node(
    claim: api.ResourceClaim, pod: api.Pod, resources: Sequence[str], classes: DeviceClasses
) -> NodeClaim:
    requests: list[api.DeviceRequest] = []
    mappings: list[Mapped] = []
    for resource in resources:
        device_class = classes.behind(resource)
        if device_class is not None:
            found = _ResourceRequests(pod, resource, device_class.metadata.name)
            requests += found.requests
            mappings += found.mappings
    requests.sort(key=lambda request: request.name)
    spec = api.ResourceClaimSpec(devices=api.DeviceClaim(requests=tuple(requests)))
    return NodeClaim(msgspec.structs.replace(claim, spec=spec), tuple(mappings))


class _ContainerNeed(msgspec.Struct, frozen=True):
    """The devices that one container needs beyond those that it may share."""

    position: int
    request: str
    count: int


class _ResourceRequests:
    """The requests for one resource. Init containers that run to completion share the devices of
    later containers; their additional needs are requested once, for the largest of them."""

    def __init__(self, pod: api.Pod, resource: str, class_name: str) -> None:
        self._resource = resource
        self._class_name = class_name
        self._containers = (*pod.spec.init_containers, *pod.spec.containers)
        passing = [i for i, c in enumerate(pod.spec.init_containers) if c.restart_policy != "Always"]
        needs = (self._need(i, ()) for i in range(len(self._containers)) if i not in passing)
        self._lasting = [need for need in needs if need is not None]
        mappings = [self._mapping(need.position, need.request) for need in self._lasting]
        extra = [need for i in passing if (need := self._need(i, self._reusable(i))) is not None]
        most = max(extra, key=lambda need: need.count) if extra else None
        for position in passing:
            mappings += self._passing_mappings(position, most)
        self.mappings = mappings
        self.requests = [self._request(need) for need in ([most] if most is not None else []) + self._lasting]

    def _wanted(self, position: int) -> int:
        amount = self._containers[position].resources.requests.get(self._resource)
        return 0 if amount is None else quantities.value_of(amount)

    def _reusable(self, position: int) -> list[_ContainerNeed]:
        return [need for need in self._lasting if need.position >= position]

    def _need(self, position: int, reusable: Iterable[_ContainerNeed]) -> _ContainerNeed | None:
        missing = self._wanted(position) - sum(need.count for need in reusable)
        return _ContainerNeed(position, self._request_name(position), missing) if missing > 0 else None

    def _passing_mappings(self, position: int, most: _ContainerNeed | None) -> Iterator[Mapped]:
        """Yield the mappings of an init container: shared devices, then the additional request."""
        left = self._wanted(position)
        for need in self._reusable(position):
            if left > 0:
                yield self._mapping(position, need.request)
            left -= need.count
        if left > 0 and most is not None:
            yield self._mapping(position, most.request)

    def _request_name(self, position: int) -> str:
        index = sorted(self._containers[position].resources.requests).index(self._resource)
        return f"container-{position}-request-{index}"

    def _mapping(self, position: int, request: str) -> Mapped:
        container = self._containers[position].name
        return Mapped(container_name=container, resource_name=self._resource, request_name=request)

    def _request(self, need: _ContainerNeed) -> api.DeviceRequest:
        exactly = api.ExactDeviceRequest(
            device_class_name=self._class_name, allocation_mode="ExactCount", count=need.count
        )
        return api.DeviceRequest(name=need.request, exactly=exactly)
