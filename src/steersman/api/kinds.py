# SPDX-License-Identifier: Apache-2.0
"""Registry of kinds and their Structs."""

from __future__ import annotations

from typing import Final

from steersman.api.autoscaling import HorizontalPodAutoscaler
from steersman.api.batch import CronJob, Job
from steersman.api.device import DeviceClass, DeviceTaintRule, ResourceSlice
from steersman.api.limits import LimitRange, ResourceQuota, RuntimeClass
from steersman.api.meta import Object
from steersman.api.node import Namespace, Node
from steersman.api.pod import Pod
from steersman.api.pod_groups import CompositePodGroup, PodGroup, Workload
from steersman.api.policy import PodDisruptionBudget, PriorityClass
from steersman.api.resource_claim import ResourceClaim, ResourceClaimTemplate
from steersman.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from steersman.api.workload import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

_CLASSES: Final[tuple[type[Object], ...]] = (
    Namespace,
    Node,
    Pod,
    PriorityClass,
    PodDisruptionBudget,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    Deployment,
    DaemonSet,
    ControllerRevision,
    Job,
    CronJob,
    HorizontalPodAutoscaler,
    LimitRange,
    ResourceQuota,
    RuntimeClass,
    StorageClass,
    PersistentVolume,
    PersistentVolumeClaim,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    DeviceClass,
    ResourceSlice,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    PodGroup,
    CompositePodGroup,
    Workload,
)

KINDS: Final[dict[str, type[Object]]] = {cls.KIND: cls for cls in _CLASSES}
"""Kind → Struct, for all kinds that Steersman reads."""
