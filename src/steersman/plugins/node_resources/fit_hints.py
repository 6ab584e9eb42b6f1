# SPDX-License-Identifier: Apache-2.0
"""When a pod that NodeResourcesFit rejected is worth another attempt: something it needs became available."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import DeviceClass, Node, Pod
from steersman.framework.device_classes import DEVICE_CLASS_PREFIX, DeviceClasses
from steersman.framework.events import QueueingHint
from steersman.framework.hints import changed, deleted
from steersman.framework.pod_resources import pod_requests
from steersman.plugins.node_resources.insufficient import (
    CheckedRequest,
    EmptyNode,
    checked_requests,
    insufficient_resources,
)


def after_pod_event(waiting: Pod, old: object, new: object) -> QueueingHint:
    """A pod was deleted or scaled down."""
    if new is None:
        gone = deleted(Pod, old)
        return _queue_if(bool(gone.spec.node_name or gone.status.nominated_node_name))
    before, after = changed(Pod, old, new)
    if after.metadata.uid == waiting.metadata.uid:
        return QueueingHint.QUEUE
    return _queue_if(before is not None and bool(after.spec.node_name) and _frees_something(waiting, before, after))


def after_node_event(classes: DeviceClasses | None, waiting: Pod, old: object, new: object) -> QueueingHint:
    """A node was added, or what it offers changed: it helps if the pod fits on it empty, thanks to the change."""
    before, after = changed(Node, old, new)
    requests = pod_requests(waiting, status=False)
    checked = checked_requests(requests, classes=classes)
    if insufficient_resources(checked, EmptyNode(after)):
        return QueueingHint.SKIP
    return _queue_if(before is None or _offers_more(checked, EmptyNode(before), EmptyNode(after)))


def after_device_class_event(waiting: Pod, old: object, new: object) -> QueueingHint:
    """A device class was added or changed: it may back a resource that the pod requests."""
    before, after = changed(DeviceClass, old, new)
    requests = pod_requests(waiting, status=False)
    # The class's own name is such a resource too, but it never changes.
    if before is None and DEVICE_CLASS_PREFIX + after.metadata.name in requests:
        return QueueingHint.QUEUE
    if before is not None and (before.spec.extended_resource_name or "") == (after.spec.extended_resource_name or ""):
        return QueueingHint.SKIP
    return _queue_if(after.spec.extended_resource_name in requests)


def _frees_something(waiting: Pod, before: Pod, after: Pod) -> bool:
    """Whether the pod on a node now requests less of anything that the waiting pod needs."""
    requests_before, requests_after = pod_requests(before), pod_requests(after)
    needed = (resource for resource, amount in pod_requests(waiting).items() if amount)
    return any(requests_before.get(resource, 0) > requests_after.get(resource, 0) for resource in needed)


def _offers_more(checked: Iterable[CheckedRequest], before: EmptyNode, after: EmptyNode) -> bool:
    """Whether the node offers more of a requested resource. Devices may always provide more than before."""
    if after.allowed_pods > before.allowed_pods:
        return True
    return any(
        after.allocatable(name) > before.allocatable(name) or (by_devices and not after.allocatable(name))
        for name, _, by_devices in checked
    )


def _queue_if(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP
