# SPDX-License-Identifier: Apache-2.0
"""Events that may help a pod that VolumeBinding rejected."""

from __future__ import annotations

from steersman import api
from steersman.api import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass, quantity
from steersman.api.csi_migration import MIGRATED_PLUGINS
from steersman.api.persistent_volumes import claim_uses
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.hints import changed
from steersman.plugins.volume_binding.volume_finder import volume_limit

_ADD_OR_UPDATE = ActionType.ADD | ActionType.UPDATE


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
    """A new class may be the missing one; of a known one only the topologies can change for the better."""
    before, after = changed(StorageClass, old, new)
    return _queue_if(before is None or before.allowed_topologies != after.allowed_topologies)


def after_claim_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    _, claim = changed(PersistentVolumeClaim, old, new)
    is_near = claim.metadata.namespace == waiting.metadata.namespace
    return _queue_if(is_near and any(use.claim == claim.metadata.name for use in claim_uses(waiting)))


def after_csi_node_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """In-tree volumes look different on a node that hands their plugin over to a driver."""
    if old is None:
        return QueueingHint.QUEUE
    before, after = changed(CSINode, old, new)
    return _queue_if(before is None or _migrated_plugins(before) != _migrated_plugins(after))


def after_driver_updated(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """Helps if the driver of one of the pod's own volumes no longer wants its capacity to be heeded."""
    before, after = changed(CSIDriver, old, new)
    is_used = any(v.csi is not None and v.csi.driver == after.metadata.name for v in waiting.spec.volumes)
    is_relaxed = before is not None and before.spec.storage_capacity and not after.spec.storage_capacity
    return _queue_if(is_used and bool(is_relaxed))


def after_capacity_changed(waiting: api.Pod, old: object, new: object) -> QueueingHint:
    """A new capacity may be the missing one; a known one helps when larger volumes fit than before."""
    before, after = changed(CSIStorageCapacity, old, new)
    if before is None:
        return QueueingHint.QUEUE
    limit, earlier = volume_limit(after), volume_limit(before)
    if limit is None:
        return QueueingHint.SKIP
    return _queue_if(earlier is None or quantity.value_of(limit) > quantity.value_of(earlier))


def _migrated_plugins(node: CSINode) -> str:
    return node.metadata.annotations.get(MIGRATED_PLUGINS, "")


def _queue_if(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP
