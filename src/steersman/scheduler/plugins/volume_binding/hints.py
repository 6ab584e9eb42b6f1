# SPDX-License-Identifier: Apache-2.0
"""Events that may help a pod that VolumeBinding rejected."""

from __future__ import annotations

from typing import Final

from steersman import api
from steersman.api import (
    MIGRATED_PLUGINS,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
    claim_uses,
    quantity,
)
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    changed,
    queue_if,
)
from steersman.scheduler.plugins.volume_binding.volume_finder import volume_limit

_ADD_OR_UPDATE: Final = ActionType.ADD | ActionType.UPDATE


def registered_events() -> tuple[ClusterEventWithHint, ...]:
    return (
        ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, _ADD_OR_UPDATE), after_storage_class_changed),
        ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE), after_claim_changed),
        ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, _ADD_OR_UPDATE)),
        ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)),
        ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, _ADD_OR_UPDATE), after_csi_node_changed),
        ClusterEventWithHint(ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE), after_driver_updated),
        ClusterEventWithHint(ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE), after_capacity_changed),
    )


def after_storage_class_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if the class is new, or its topologies changed, which may admit more nodes."""
    before, after = changed(StorageClass, old, new)
    return queue_if(before is None or before.allowed_topologies != after.allowed_topologies)


def after_claim_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    _, claim = changed(PersistentVolumeClaim, old, new)
    is_near = claim.metadata.namespace == waiting.metadata.namespace
    return queue_if(is_near and any(use.claim == claim.metadata.name for use in claim_uses(waiting)))


def after_csi_node_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if the migrated plugins changed: in-tree volumes are then checked differently."""
    if old is None:
        return QueueingHint.QUEUE
    before, after = changed(CSINode, old, new)
    return queue_if(before is None or _migrated_plugins(before) != _migrated_plugins(after))


def after_driver_updated(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if the driver of an inline volume of the pod no longer limits by storage capacity."""
    before, after = changed(CSIDriver, old, new)
    is_used = any(v.csi is not None and v.csi.driver == after.metadata.name for v in waiting.spec.volumes)
    is_relaxed = before is not None and before.spec.storage_capacity and not after.spec.storage_capacity
    return queue_if(is_used and bool(is_relaxed))


def after_capacity_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Queue if the capacity is new or now has room for larger volumes."""
    before, after = changed(CSIStorageCapacity, old, new)
    if before is None:
        return QueueingHint.QUEUE
    limit, earlier = volume_limit(after), volume_limit(before)
    if limit is None:
        return QueueingHint.SKIP
    return queue_if(earlier is None or quantity.value_of(limit) > quantity.value_of(earlier))


def _migrated_plugins(node: CSINode) -> str:
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "")
