# SPDX-License-Identifier: Apache-2.0
"""Volumes that count against the limits of CSI drivers: those of pods, and VolumeAttachments.

Volumes are identified by driver and handle, so that a shared volume counts once. A claim without a
volume counts for the driver that will provision it, an in-tree volume for the driver that replaced
its plugin. A VolumeAttachment counts even if no pod uses it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from steersman import api
from steersman.api import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    Volume,
    VolumeAttachment,
    class_of_claim,
    ephemeral_claim_name,
    inline_handle,
    not_made_for,
    persistent_handle,
    plugin_named,
    plugin_of,
)
from steersman.base import CacheSpec, InputError, SharedMemo
from steersman.framework import Objects, Status, error, unresolvable

ERR_CLAIM_WITHOUT_NAME = "PersistentVolumeClaim had no name"
#: The prefix of handles of volumes that do not exist yet; no driver makes such handles.
UNPROVISIONED = "unprovisioned"

#: Driver by the volume's unique name.
Attachable = dict[str, str]

K = TypeVar("K")


class ObjectLookup(Protocol):
    """Lookup of cluster objects by kind and key, as in `Objects`."""

    def get(self, kind: type[K], key: str) -> K | None: ...


class AttachableVolumes:
    """Finds the attachable volumes of pods from the current claims, volumes and storage classes."""

    def __init__(self, objects: ObjectLookup) -> None:
        self._objects = objects

    def of_new(self, pod: api.Pod, node: CSINode | None) -> Attachable | Status:
        """Return the volumes of a pod to be placed, or a status if a claim does not exist."""
        found: Attachable = {}
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume)
            if name and self._claim(pod, name) is None:
                text = f'looking up PVC {pod.metadata.namespace}/{name}: persistentvolumeclaim "{name}" not found'
                return unresolvable(text)
            fault = self._add(found, pod, volume, node)
            if fault:
                return error(fault)
        return found

    def of_existing(self, pod: api.Pod, node: CSINode | None, found: Attachable) -> Status | None:
        """Add the volumes of a pod on the node to `found`; missing claims do not count."""
        for volume in pod.spec.volumes:
            fault = self._add(found, pod, volume, node)
            if fault:
                return error(fault)
        return None

    def _claim(self, pod: api.Pod, name: str) -> PersistentVolumeClaim | None:
        return self._objects.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")

    def _add(self, found: Attachable, pod: api.Pod, volume: Volume, node: CSINode | None) -> str:
        """Add the volume of a claim to `found`. Return an error message, or ""."""
        name = claim_name(pod, volume)
        if name is None:
            return _add_inline(found, volume, node)
        if not name:
            return ERR_CLAIM_WITHOUT_NAME
        claim = self._claim(pod, name)
        if claim is None:
            return ""
        if volume.ephemeral is not None and (fault := not_made_for(pod, claim)):
            return fault
        driver, handle = self._driver_and_handle(claim, node)
        if driver and handle:
            found[unique_name(driver, handle)] = driver
        return ""

    def _driver_and_handle(self, claim: PersistentVolumeClaim, node: CSINode | None) -> tuple[str, str]:
        """Return driver and handle of the claim's (future) volume; empty if it does not count."""
        volume = self._objects.get(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._driver_of_storage_class(claim, node)
        if volume.spec.csi is not None:
            return volume.spec.csi.driver, volume.spec.csi.volume_handle
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.is_migrated or node is None:
            return "", ""
        try:
            return plugin.driver, persistent_handle(volume)
        except InputError:
            return "", ""

    def _driver_of_storage_class(self, claim: PersistentVolumeClaim, node: CSINode | None) -> tuple[str, str]:
        name = class_of_claim(claim)
        storage_class = self._objects.get(StorageClass, name) if name else None
        if storage_class is None:
            return "", ""
        handle = f"{UNPROVISIONED}-{claim.metadata.namespace}/{claim.metadata.name}"
        plugin = plugin_named(storage_class.provisioner)
        if plugin is None:
            return storage_class.provisioner, handle
        return (plugin.driver, handle) if plugin.is_migrated and node is not None else ("", "")


def claim_name(pod: api.Pod, volume: Volume) -> str | None:
    """Return the name of the claim of a volume of the pod, or None without a claim."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return ephemeral_claim_name(pod, volume) if volume.ephemeral is not None else None


def unique_name(driver: str, handle: str) -> str:
    return f"{driver}/{handle}"


def _add_inline(found: Attachable, volume: Volume, node: CSINode | None) -> str:
    """Add a disk that the pod names directly, if the node has a CSINode. Return an error or ""."""
    plugin = plugin_of(volume)
    if plugin is None or not plugin.is_migrated or node is None:
        return ""
    try:
        handle = inline_handle(volume)
    except InputError as problem:
        return f"converting volume({volume.name}) from inline to csi: {problem}"
    found[unique_name(plugin.driver, handle)] = plugin.driver
    return ""


def may_attach(volume: Volume) -> bool:
    """Return whether the volume is of a kind that can count."""
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None or plugin_of(volume) is not None


def inline_drivers(pod: api.Pod) -> Iterator[str]:
    """Yield the drivers of a pod's inline disks; raise `InputError` for invalid disks."""
    for volume in pod.spec.volumes:
        plugin = plugin_of(volume)
        if plugin is not None:
            inline_handle(volume)
            yield plugin.driver


# -- attachments of nodes ----------------------------------------------------------------------------------------------


ATTACHMENTS = CacheSpec(
    name="attachments by node",
    attributes=("Attachments._by_node",),
    contents="VolumeAttachments",
    key="node name",
    invalidation="version of VolumeAttachment objects (`Memo`); shared by forks",
    limit="all VolumeAttachments",
    reference="`Attachments._sort`",
    checked_by="tests/plugins/volume_columns/test_columns_equal_scalar_form.py",
)


class Attachments:
    """VolumeAttachments by node, grouped again when one of them changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._by_node: SharedMemo[dict[str, tuple[VolumeAttachment, ...]]] = SharedMemo()

    def of_node(self, name: str) -> Attachable:
        """Return the volumes of CSI drivers that are attached to the node."""
        return attached_volumes(self.to_node(name), self._objects)

    def to_node(self, name: str) -> Sequence[VolumeAttachment]:
        """Return the attachments that name the node."""
        return self._sorted().get(name, ())

    def counts(self) -> Iterator[tuple[str, int]]:
        """Yield nodes with their number of attachments, whether these count or not."""
        return ((node, len(attachments)) for node, attachments in self._sorted().items())

    def _sorted(self) -> dict[str, tuple[VolumeAttachment, ...]]:
        return self._by_node.get(self._objects.version(VolumeAttachment), self._sort)

    def _sort(self) -> dict[str, tuple[VolumeAttachment, ...]]:
        by_node: dict[str, list[VolumeAttachment]] = {}
        for attachment in self._objects.list(VolumeAttachment):
            by_node.setdefault(attachment.spec.node_name, []).append(attachment)
        return {node: tuple(attachments) for node, attachments in by_node.items()}


def attached_volumes(attachments: Iterable[VolumeAttachment], objects: ObjectLookup) -> Attachable:
    """Return the volumes of CSI drivers that the attachments attach."""
    found: Attachable = {}
    for attachment in attachments:
        source = attachment.spec.source.persistent_volume_name
        volume = objects.get(PersistentVolume, source) if source is not None else None
        if attachment.spec.attacher and volume is not None and volume.spec.csi is not None:
            driver = attachment.spec.attacher
            found[unique_name(driver, volume.spec.csi.volume_handle)] = driver
    return found


def volume_limits(node: CSINode | None) -> dict[str, int]:
    """Return the maximum number of volumes by driver; missing drivers have no limit."""
    if node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
