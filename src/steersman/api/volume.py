# SPDX-License-Identifier: Apache-2.0
"""Sources of volumes in pods and persistent volumes, with the fields relevant for scheduling.

Their sources differ only in fields that the scheduler does not read (secrets), so they share
Structs, except for CSI.
"""

from __future__ import annotations

from steersman.api.meta import Int32, LabelSelector, ObjectMeta, ResourceList, Struct


class GCEPersistentDisk(Struct, frozen=True):
    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStore(Struct, frozen=True):
    volume_id: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class RBD(Struct, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    fs_type: str = ""
    pool: str = ""
    user: str = ""
    read_only: bool = False


class ISCSI(Struct, frozen=True):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    fs_type: str = ""
    read_only: bool = False


class AzureDisk(Struct, frozen=True):
    disk_name: str = ""
    disk_uri: str = ""
    caching_mode: str | None = None
    fs_type: str | None = None
    read_only: bool | None = None
    kind: str | None = None


class AzureFile(Struct, frozen=True):
    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False
    secret_namespace: str | None = None


class Cinder(Struct, frozen=True):
    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False


class PortworxVolume(Struct, frozen=True):
    volume_id: str = ""
    fs_type: str = ""
    read_only: bool = False


class VsphereVolume(Struct, frozen=True):
    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = ""


class CSIVolumeSource(Struct, frozen=True):
    """Inline ephemeral volume of a CSI driver."""

    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = None
    volume_attributes: dict[str, str] = {}


class CSIPersistentVolumeSource(Struct, frozen=True):
    """Persistent volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}


class HostPath(Struct, frozen=True):
    path: str = ""
    type: str | None = None


class LocalVolume(Struct, frozen=True):
    path: str = ""
    fs_type: str | None = None


class NFS(Struct, frozen=True):
    server: str = ""
    path: str = ""
    read_only: bool = False


class EmptyDir(Struct, frozen=True):
    medium: str = ""
    size_limit: str | int | float | None = None


class ImageVolumeSource(Struct, frozen=True):
    """Content of a container image as a volume; `reference` is the image."""

    reference: str = ""
    pull_policy: str = ""


class PersistentVolumeClaimVolumeSource(Struct, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class TypedLocalObjectReference(Struct, frozen=True):
    api_group: str | None = None
    kind: str = ""
    name: str = ""


class VolumeResourceRequirements(Struct, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class PersistentVolumeClaimSpec(Struct, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedLocalObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Struct, frozen=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(Struct, frozen=True):
    """Volume of a pod; no source is set if irrelevant for scheduling (configMap …)."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
    empty_dir: EmptyDir | None = None
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
