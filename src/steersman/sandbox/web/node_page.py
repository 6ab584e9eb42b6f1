# SPDX-License-Identifier: Apache-2.0
"""Node page: pods, free amounts, the node itself, and waiting pods with a single objection to
it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.framework import node_allocatable
from steersman.sandbox.web.answers import TaintPart, WebPart, seconds_of, taint_parts
from steersman.sandbox.web.pending import waiting_pods
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import NotEvaluated, PodEvaluation, evaluated
from steersman.scheduler.state import CachedPodState

MAX_SHAPES: Final = 64
"""Maximum number of kinds of waiting pods that are evaluated."""
MAX_NAMED: Final = 20


class NodeCondition(WebPart, frozen=True, omit_defaults=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: float = 0.0


class ResourceRoom(WebPart, frozen=True):
    resource: str
    capacity: int
    allocatable: int
    requested: int


class NodePod(WebPart, frozen=True, omit_defaults=True):
    pod: str
    phase: str
    priority: int = msgspec.field()
    created: float = msgspec.field()
    requests: dict[str, int] = msgspec.field()
    assumed: bool = False


class NodeImage(WebPart, frozen=True):
    names: tuple[str, ...]
    bytes: int


class VolumeRoom(WebPart, frozen=True):
    """Volumes of one CSI driver: in use, and the limit of the node."""

    driver: str
    used: int
    limit: int | None


class NodeDevice(WebPart, frozen=True, omit_defaults=True):
    driver: str
    pool: str
    device: str
    attributes: dict[str, str] = {}
    allocated_to: str = ""


class NearMiss(WebPart, frozen=True):
    """Waiting pods that a single plugin rejects on the node."""

    plugin: str
    objection: str
    count: int
    pods: list[str]


class NodePage(WebPart, frozen=True):
    now: float
    name: str
    row: int
    created: float
    unschedulable: bool
    taints: list[TaintPart]
    labels: dict[str, str]
    conditions: list[NodeCondition]
    room: list[ResourceRoom]
    pods: list[NodePod]
    nominated: list[str]
    images: list[NodeImage]
    volumes: list[VolumeRoom]
    attached_volumes: list[str]
    devices: list[NodeDevice]
    near_misses: list[NearMiss]
    yaml: str = ""


def node_page(scheduler: Scheduler, row: int) -> Iterator[NodePage | None]:
    """Yield None after every evaluated kind of pods, so that the caller can do other work, then the
    page without the manifest."""
    node = scheduler.cache.nodes.node(row)
    misses: dict[tuple[str, str], list[str]] = {}
    for pods in _waiting_by_shape(scheduler):
        objection = _only_objection(scheduler, pods[0], row)
        if objection is not None:
            misses.setdefault(objection, []).extend(map(api.key, pods))
        yield None
    near = [NearMiss(plugin, text, len(pods), pods[:MAX_NAMED]) for (plugin, text), pods in misses.items()]
    yield _page(scheduler, row, node, sorted(near, key=lambda miss: -miss.count))


def _page(scheduler: Scheduler, row: int, node: api.Node, near: list[NearMiss]) -> NodePage:
    meta = node.metadata
    return NodePage(
        scheduler.clock.now(),
        meta.name,
        row,
        seconds_of(meta.creation_timestamp),
        node.spec.unschedulable,
        taint_parts(node.spec.taints),
        meta.labels,
        [
            NodeCondition(one.type, one.status, one.reason, one.message, seconds_of(one.last_transition_time))
            for one in node.status.conditions
        ],
        list(_room(scheduler, node, row)),
        [_pod(scheduler, info.pod) for info in scheduler.cache.nodes.pods_on[row].values()],
        [api.key(pod) for pod in scheduler.queue.nominated_pods_for_node(meta.name)],
        [NodeImage(image.names, image.size_bytes) for image in node.status.images],
        list(_volumes(scheduler, meta.name)),
        [volume.name for volume in node.status.volumes_attached],
        list(_devices(scheduler, meta.name)),
        near,
    )


def _room(scheduler: Scheduler, node: api.Node, row: int) -> Iterator[ResourceRoom]:
    table = scheduler.cache.nodes
    capacity = node_allocatable(msgspec.structs.replace(node, status=_capacity_as_allocatable(node.status)))
    for resource, allocatable in node_allocatable(node).items():
        is_pods = resource == "pods"
        requested = int(table.pod_count.cell[row]) if is_pods else table.amounts_requested.amount(resource, row)
        yield ResourceRoom(resource, capacity.get(resource, allocatable), allocatable, requested)


def _capacity_as_allocatable(status: api.NodeStatus) -> api.NodeStatus:
    return msgspec.structs.replace(status, allocatable=status.capacity or status.allocatable)


def _pod(scheduler: Scheduler, pod: api.Pod) -> NodePod:
    record = scheduler.cache.get(pod.metadata.uid)
    return NodePod(
        api.key(pod),
        pod.status.phase,
        pod.spec.priority or 0,
        seconds_of(pod.metadata.creation_timestamp),
        scheduler.cache.shapes.info(pod).shape.requests,
        record is not None and record.state is not CachedPodState.ADDED,
    )


def _volumes(scheduler: Scheduler, name: str) -> Iterator[VolumeRoom]:
    """Return the volumes by CSI driver, counted by their attachments."""
    csi_node = scheduler.objects.get(api.CSINode, name)
    attachments = scheduler.objects.list(api.VolumeAttachment)
    for driver in () if csi_node is None else csi_node.spec.drivers:
        used = sum(
            attachment.spec.node_name == name and attachment.spec.attacher == driver.name for attachment in attachments
        )
        limit = None if driver.allocatable is None else driver.allocatable.count
        yield VolumeRoom(driver.name, used, limit)


def _devices(scheduler: Scheduler, name: str) -> Iterator[NodeDevice]:
    allocated = {
        (result.driver, result.pool, result.device): api.key(claim)
        for claim in scheduler.objects.list(api.ResourceClaim)
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    }
    for found in scheduler.objects.list(api.ResourceSlice):
        spec = found.spec
        for device in spec.devices:
            if name in (spec.node_name, device.node_name):
                place = spec.driver, spec.pool.name, device.name
                yield NodeDevice(*place, _attributes(device), allocated.get(place, ""))


def _attributes(device: api.Device) -> dict[str, str]:
    plain = {name: msgspec.to_builtins(attribute) for name, attribute in device.attributes.items()}
    return {name: str(next(iter(values.values()), "")) for name, values in plain.items()}


# -- near misses -------------------------------------------------------------------------------------------------------


def _waiting_by_shape(scheduler: Scheduler) -> list[list[api.Pod]]:
    """Return groups of equal waiting pods that were tried, oldest first."""
    by_shape: dict[tuple[str, int], list[api.Pod]] = {}
    for queued in waiting_pods(scheduler):
        if queued.attempts and not queued.is_gated:
            shape = scheduler.cache.shapes.info(queued.pod).shape
            by_shape.setdefault((queued.profile, shape.fingerprint), []).append(queued.pod)
    return list(by_shape.values())[:MAX_SHAPES]


def _only_objection(scheduler: Scheduler, pod: api.Pod, row: int) -> tuple[str, str] | None:
    """Return the only plugin that rejects the pod on the node, and its reasons; None if there are
    more."""
    try:
        with evaluated(scheduler, pod) as found:
            objections = list(_objections_at(found, row))
    except NotEvaluated:
        return None
    return objections[0] if len(objections) == 1 else None


def _objections_at(found: PodEvaluation, row: int) -> Iterator[tuple[str, str]]:
    for plugin, groups in found.objections().items():
        for status, rows in groups.items():
            if row in rows:
                yield plugin, ", ".join(status.reasons)
