# SPDX-License-Identifier: Apache-2.0
"""Queueing hints of NodeResourcesFit: requeue a pod when something that it needs is available."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import DeviceClass, Node, Pod
from steersman.framework import (
    DEVICE_CLASS_PREFIX,
    DeviceClasses,
    QueueingHint,
    changed,
    deleted,
    pod_requests,
    queue_if,
)
from steersman.scheduler.plugins.node_resources.insufficient import (
    CheckedRequest,
    EmptyNode,
    checked_requests,
    insufficient_resources,
)


def after_pod_event(waiting: Pod, old: object, new: object, *, by_totals: bool = False) -> QueueingHint:
    """Queue if a pod was deleted or scaled down. `by_totals` is the rule for resized pods."""
    if new is None:
        gone = deleted(Pod, old)
        return queue_if(bool(gone.spec.node_name or gone.status.nominated_node_name))
    before, after = changed(Pod, old, new)
    if after.metadata.uid == waiting.metadata.uid:
        return QueueingHint.QUEUE
    if before is None or not after.spec.node_name:
        return QueueingHint.SKIP
    return queue_if(_frees_something(waiting, before, after, by_totals))


def after_node_event(classes: DeviceClasses | None, waiting: Pod, old: object, new: object) -> QueueingHint:
    """Queue if the pod now fits on the node when it is empty, and the event is the reason."""
    before, after = changed(Node, old, new)
    requests = pod_requests(waiting, status=False)
    checked = checked_requests(requests, classes=classes)
    if insufficient_resources(checked, EmptyNode(after)):
        return QueueingHint.SKIP
    return queue_if(before is None or _offers_more(checked, EmptyNode(before), EmptyNode(after)))


def after_device_class_event(waiting: Pod, old: object, new: object) -> QueueingHint:
    """Queue if an added or changed device class may back a resource that the pod requests."""
    before, after = changed(DeviceClass, old, new)
    requests = pod_requests(waiting, status=False)
    # The class's implicit resource, named after it, never changes.
    if before is None and DEVICE_CLASS_PREFIX + after.metadata.name in requests:
        return QueueingHint.QUEUE
    if before is not None and (before.spec.extended_resource_name or "") == (after.spec.extended_resource_name or ""):
        return QueueingHint.SKIP
    return queue_if(after.spec.extended_resource_name in requests)


def _frees_something(waiting: Pod, before: Pod, after: Pod, by_totals: bool) -> bool:
    """Return whether the updated pod requests less of a resource that the waiting pod needs."""
    requests_before, requests_after = (pod_requests(pod, by_totals=by_totals) for pod in (before, after))
    needed = (resource for resource, amount in pod_requests(waiting, by_totals=by_totals).items() if amount)
    return any(requests_before.get(resource, 0) > requests_after.get(resource, 0) for resource in needed)


def _offers_more(checked: Iterable[CheckedRequest], before: EmptyNode, after: EmptyNode) -> bool:
    """Return whether the node offers more of a requested resource; devices may always do."""
    if after.allowed_pods > before.allowed_pods:
        return True
    return any(
        after.allocatable(name) > before.allocatable(name) or (by_devices and not after.allocatable(name))
        for name, _, by_devices in checked
    )
