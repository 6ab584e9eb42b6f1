# SPDX-License-Identifier: Apache-2.0
"""Volumes of in-tree plugins, translated to the CSI drivers that replaced them.

The scheduler counts such a volume for its driver and checks its node affinity in the driver's
terms. Only the fields that the scheduler reads are translated: driver, handle and node affinity. An
invalid source raises `InputError`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from steersman.api.csi_topology import ZONE_DELIMITER, in_driver_terms
from steersman.api.storage import CSINode, PersistentVolume, PersistentVolumeSpec
from steersman.api.volume import AzureDisk, CSIPersistentVolumeSource, GCEPersistentDisk, Volume
from steersman.api.wellknown import BETA_ZONE_LABEL, ZONE_LABEL
from steersman.base import InputError

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""CSINode annotation: comma-separated in-tree plugins that the kubelet has migrated to drivers."""
MANAGED: Final = "managed"
UNSPECIFIED: Final = "UNSPECIFIED"

_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")

_replace = msgspec.structs.replace


class InTreePlugin(NamedTuple):
    """In-tree plugin and its CSI driver."""

    name: str
    driver: str
    source: str
    """Volume field of the plugin."""
    topology_key: str = ""
    """Zone label of the driver, if it has its own."""
    is_migrated: bool = True
    """Whether the scheduler uses the driver; volumes of other plugins are not counted."""


IN_TREE_PLUGINS: Final[Sequence[InTreePlugin]] = (
    InTreePlugin(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "aws_elastic_block_store", "topology.ebs.csi.aws.com/zone"
    ),
    InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "gce_persistent_disk", "topology.gke.io/zone"),
    InTreePlugin(
        "kubernetes.io/cinder", "cinder.csi.openstack.org", "cinder", "topology.cinder.csi.openstack.org/zone"
    ),
    InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com", "azure_disk"),
    InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworx_volume"),
    InTreePlugin("kubernetes.io/azure-file", "file.csi.azure.com", "azure_file", is_migrated=False),
    InTreePlugin("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphere_volume", is_migrated=False),
)
_BY_NAME: Final = {plugin.name: plugin for plugin in IN_TREE_PLUGINS}


def plugin_named(name: str) -> InTreePlugin | None:
    """Return the in-tree plugin with this provisioner name, or None."""
    return _BY_NAME.get(name)


def plugin_of(source: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """Return the in-tree plugin of a volume; None if it has no CSI driver."""
    return next((plugin for plugin in IN_TREE_PLUGINS if getattr(source, plugin.source) is not None), None)


def is_migrated_on(node: CSINode | None, plugin: InTreePlugin) -> bool:
    """Return whether the node's kubelet has migrated the plugin to its driver."""
    if node is None:
        return False
    return plugin.name in node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def translated(volume: PersistentVolume, plugin: InTreePlugin) -> PersistentVolume:
    """Translate a volume to its driver, with handle and node affinity."""
    source = CSIPersistentVolumeSource(driver=plugin.driver, volume_handle=persistent_handle(volume))
    if plugin.topology_key:
        volume = in_driver_terms(volume, plugin.topology_key)
    return _replace(volume, spec=_replace(volume.spec, csi=source, **{plugin.source: None}))


def inline_handle(volume: Volume) -> str:
    """Return the driver's handle of an inline volume of a pod."""
    if volume.gce_persistent_disk is not None:
        return _gce_handle(volume.gce_persistent_disk, f"zones/{UNSPECIFIED}")
    return _handle(volume)


def persistent_handle(volume: PersistentVolume) -> str:
    """Return the driver's handle of a persistent volume."""
    disk = volume.spec.gce_persistent_disk
    return _handle(volume.spec) if disk is None else _gce_handle(disk, _gce_place(volume))


def _handle(source: Volume | PersistentVolumeSpec) -> str:
    if source.aws_elastic_block_store is not None:
        return _aws_handle(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        return _azure_handle(source.azure_disk)
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""


def _aws_handle(volume_id: str) -> str:
    """Return a bare id, or the id in `aws://zone/vol-…`."""
    if not volume_id.startswith("aws://"):
        return volume_id
    if _BROKEN_ESCAPE.search(volume_id):
        raise InputError(f"failed to translate Kubernetes ID to EBS Volume ID Invalid disk name ({volume_id})")
    handle = unquote(urlsplit(volume_id).path).strip("/")
    if not _AWS_VOLUME.fullmatch(handle):
        raise InputError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return handle


def _azure_handle(disk: AzureDisk) -> str:
    if disk.kind is not None and disk.kind.lower() != MANAGED:
        raise InputError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _gce_handle(disk: GCEPersistentDisk, place: str) -> str:
    return f"projects/{UNSPECIFIED}/{place}/disks/{disk.pd_name}"


def _gce_place(volume: PersistentVolume) -> str:
    """Return the zone of a zonal disk, or the region of a regional one."""
    labels = volume.metadata.labels
    zones = (labels.get(BETA_ZONE_LABEL) or labels.get(ZONE_LABEL) or "").split(ZONE_DELIMITER)
    if len(zones) == 1:
        return f"zones/{zones[0] or UNSPECIFIED}"
    return f"regions/{_gce_region(zones)}"


def _gce_region(zones: Sequence[str]) -> str:
    parts = [zone.split("-") for zone in zones]
    for zone, split in zip(zones, parts, strict=True):
        if len(split) != 3:
            raise InputError(
                "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: "
                + zone
            )
    regions = sorted({"-".join(split[:2]) for split in parts})
    if len(regions) != 1:
        listed = " ".join(f"{region}:{{}}" for region in regions)
        raise InputError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{listed}]"
        )
    return regions[0]
