# SPDX-License-Identifier: Apache-2.0
"""Builders for storage: claims, volumes, classes, CSINodes and CSIStorageCapacities.

make_claim("data").storage_class("fast").asks("10Gi")
make_volume("disk-1").storage_class("fast").offers("10Gi").on(is_in("zone", "a"))
make_storage_class("fast").provisioner("ssd.example.com").waits()
"""

from __future__ import annotations

from typing import Self

import msgspec

from steersman import api
from steersman.api import BIND_COMPLETED, SELECTED_NODE, STORAGE, WAIT_FOR_FIRST_CONSUMER
from steersman.testing.building import Builder, named
from steersman.testing.selecting import Expression, Selecting, label_selector

_replace = msgspec.structs.replace


def make_claim(name: str) -> ClaimBuilder:
    """Return a builder of a pending claim with access mode ReadWriteOnce."""
    claim = named(api.PersistentVolumeClaim, name)
    return ClaimBuilder(_replace(claim, status=api.PersistentVolumeClaimStatus(phase="Pending"))).modes("ReadWriteOnce")


def make_volume(name: str) -> VolumeBuilder:
    """Return a builder of an available volume with access mode ReadWriteOnce."""
    volume = named(api.PersistentVolume, name)
    return VolumeBuilder(_replace(volume, status=api.PersistentVolumeStatus(phase="Available"))).modes("ReadWriteOnce")


def make_storage_class(name: str) -> StorageClassBuilder:
    """Return a builder of a storage class with immediate binding."""
    return StorageClassBuilder(_replace(named(api.StorageClass, name), volume_binding_mode="Immediate"))


def make_csi_node(name: str) -> CSINodeBuilder:
    return CSINodeBuilder(named(api.CSINode, name))


def make_storage_capacity(name: str) -> StorageCapacityBuilder:
    return StorageCapacityBuilder(named(api.CSIStorageCapacity, name))


class ClaimBuilder(Builder[api.PersistentVolumeClaim]):
    def asks(self, size: api.Quantity) -> Self:
        return self._spec(resources=api.VolumeResourceRequirements(requests={STORAGE: size}))

    def modes(self, *modes: str) -> Self:
        return self._spec(access_modes=modes)

    def storage_class(self, name: str) -> Self:
        return self._spec(storage_class_name=name)

    def selector(self, selecting: Selecting) -> Self:
        return self._spec(selector=label_selector(selecting))

    def volume_mode(self, mode: str) -> Self:
        return self._spec(volume_mode=mode)

    def wants(self, volume: str) -> Self:
        """Set the volume that the claim is to be bound to."""
        return self._spec(volume_name=volume)

    def bound(self, volume: str) -> Self:
        return self.wants(volume).annotation(BIND_COMPLETED, "yes").phase("Bound")

    def selected_node(self, node: str) -> Self:
        """Set the node selected for provisioning."""
        return self.annotation(SELECTED_NODE, node)

    def phase(self, phase: str) -> Self:
        return self._status(phase=phase)


class VolumeBuilder(Builder[api.PersistentVolume]):
    def offers(self, size: api.Quantity) -> Self:
        return self._spec(capacity={STORAGE: size})

    def modes(self, *modes: str) -> Self:
        return self._spec(access_modes=modes)

    def storage_class(self, name: str) -> Self:
        return self._spec(storage_class_name=name)

    def volume_mode(self, mode: str) -> Self:
        return self._spec(volume_mode=mode)

    def on(self, *expressions: Expression) -> Self:
        """Restrict the volume to nodes that match all of the expressions."""
        term = api.NodeSelectorTerm(
            match_expressions=tuple(
                api.NodeSelectorRequirement(key=e.key, operator=e.operator, values=e.values) for e in expressions
            )
        )
        return self._spec(node_affinity=api.VolumeNodeAffinity(required=api.NodeSelector(node_selector_terms=(term,))))

    def claimed(self, claim: ClaimBuilder, *, uid: str | None = None) -> Self:
        """Bind the volume to the claim; with `uid=""`, reserve it for the claim."""
        meta = claim.obj().metadata
        known = meta.uid if uid is None else uid
        return self._spec(claim_ref=api.ObjectReference(namespace=meta.namespace, name=meta.name, uid=known))

    def reclaim(self, policy: str) -> Self:
        return self._spec(persistent_volume_reclaim_policy=policy)

    def csi(self, driver: str, handle: str = "") -> Self:
        source = api.CSIPersistentVolumeSource(driver=driver, volume_handle=handle or self._object.metadata.name)
        return self._spec(csi=source)

    def aws(self, volume_id: str) -> Self:
        return self._spec(aws_elastic_block_store=api.AWSElasticBlockStore(volume_id=volume_id))

    def gce(self, disk: str) -> Self:
        return self._spec(gce_persistent_disk=api.GCEPersistentDisk(pd_name=disk))

    def source(self, **source: object) -> Self:
        """Set any other volume source by its field name."""
        return self._spec(**source)

    def phase(self, phase: str) -> Self:
        return self._status(phase=phase)


class StorageClassBuilder(Builder[api.StorageClass]):
    def provisioner(self, name: str) -> Self:
        return self._with(provisioner=name)

    def waits(self) -> Self:
        """Delay binding until the first pod that uses the claim is scheduled."""
        return self.binding_mode(WAIT_FOR_FIRST_CONSUMER)

    def binding_mode(self, mode: str | None) -> Self:
        return self._with(volume_binding_mode=mode)

    def reclaim(self, policy: str) -> Self:
        return self._with(reclaim_policy=policy)

    def allows(self, key: str, *values: str) -> Self:
        """Add a topology for which volumes may be provisioned."""
        term = api.TopologySelectorTerm(
            match_label_expressions=(api.TopologySelectorLabelRequirement(key=key, values=values),)
        )
        return self._with(allowed_topologies=(*self._object.allowed_topologies, term))


class CSINodeBuilder(Builder[api.CSINode]):
    def driver(self, name: str, *, limit: int | None = None, topology_keys: tuple[str, ...] = ()) -> Self:
        added = api.CSINodeDriver(
            name=name,
            node_id=self._object.metadata.name,
            topology_keys=topology_keys,
            allocatable=None if limit is None else api.VolumeNodeResources(count=limit),
        )
        return self._with(spec=api.CSINodeSpec(drivers=(*self._object.spec.drivers, added)))


class StorageCapacityBuilder(Builder[api.CSIStorageCapacity]):
    def storage_class(self, name: str) -> Self:
        return self._with(storage_class_name=name)

    def capacity(self, size: api.Quantity) -> Self:
        return self._with(capacity=size)

    def largest_volume(self, size: api.Quantity) -> Self:
        return self._with(maximum_volume_size=size)

    def on(self, selecting: Selecting) -> Self:
        return self._with(node_topology=label_selector(selecting))
