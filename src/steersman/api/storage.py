# SPDX-License-Identifier: Apache-2.0
"""Persistent storage: claims, volumes, classes, and CSI drivers' reports of nodes and capacity."""

from __future__ import annotations

from typing import ClassVar

from steersman.api.meta import Condition, Int32, LabelSelector, Object, ObjectReference, Quantity, ResourceList, Struct
from steersman.api.scheduling import NodeSelector
from steersman.api.volume import (
    ISCSI,
    NFS,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    AzureFile,
    Cinder,
    CSIPersistentVolumeSource,
    GCEPersistentDisk,
    HostPath,
    LocalVolume,
    PersistentVolumeClaimSpec,
    PortworxVolume,
    VsphereVolume,
)


class PersistentVolumeClaimStatus(Struct, frozen=True):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(Object, frozen=True):
    KIND: ClassVar[str] = "PersistentVolumeClaim"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "persistentvolumeclaims"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class VolumeNodeAffinity(Struct, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, frozen=True):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolume | None = None
    host_path: HostPath | None = None
    nfs: NFS | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    rbd: RBD | None = None
    iscsi: ISCSI | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None


class PersistentVolumeStatus(Struct, frozen=True):
    phase: str = ""
    message: str = ""
    reason: str = ""


class PersistentVolume(Object, frozen=True):
    KIND: ClassVar[str] = "PersistentVolume"
    API_VERSION: ClassVar[str] = "v1"
    PLURAL: ClassVar[str] = "persistentvolumes"
    NAMESPACED: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologySelectorLabelRequirement(Struct, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Struct, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Object, frozen=True):
    KIND: ClassVar[str] = "StorageClass"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    PLURAL: ClassVar[str] = "storageclasses"
    NAMESPACED: ClassVar[bool] = False

    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Struct, frozen=True):
    count: Int32 | None = None


class CSINodeDriver(Struct, frozen=True):
    name: str = ""
    node_id: str = ""
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, frozen=True):
    KIND: ClassVar[str] = "CSINode"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    PLURAL: ClassVar[str] = "csinodes"
    NAMESPACED: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True):
    attach_required: bool | None = None
    storage_capacity: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Object, frozen=True):
    KIND: ClassVar[str] = "CSIDriver"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    PLURAL: ClassVar[str] = "csidrivers"
    NAMESPACED: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Object, frozen=True):
    KIND: ClassVar[str] = "CSIStorageCapacity"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    PLURAL: ClassVar[str] = "csistoragecapacities"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Struct, frozen=True):
    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Struct, frozen=True):
    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Struct, frozen=True):
    attached: bool = False


class VolumeAttachment(Object, frozen=True):
    KIND: ClassVar[str] = "VolumeAttachment"
    API_VERSION: ClassVar[str] = "storage.k8s.io/v1"
    PLURAL: ClassVar[str] = "volumeattachments"
    NAMESPACED: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
