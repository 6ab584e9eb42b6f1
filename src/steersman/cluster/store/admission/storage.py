# SPDX-License-Identifier: Apache-2.0
"""Defaults of claims, volumes and CSI drivers.

A volume without a claim becomes available at once, because upstream's controller for this does not
run here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import (
    RBD,
    CSIDriver,
    CSIDriverSpec,
    LimitRange,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
    timestamps,
)
from steersman.cluster.store.admission.amounts import rounded_up
from steersman.cluster.store.admission.limit_ranges import check_claim, limits_of
from steersman.cluster.store.finalizers import PV_PROTECTION, PVC_PROTECTION, with_finalizer
from steersman.cluster.store.store import ClusterView

FILESYSTEM: Final = "Filesystem"
RETAIN: Final = "Retain"
PENDING: Final = "Pending"
AVAILABLE: Final = "Available"
BOUND: Final = "Bound"
PERSISTENT: Final = "Persistent"
RBD_POOL: Final = "rbd"
RBD_USER: Final = "admin"
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
IS_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

_replace = msgspec.structs.replace


def admit_claim(
    claim: PersistentVolumeClaim, old: PersistentVolumeClaim | None, view: ClusterView
) -> PersistentVolumeClaim:
    """Set volume mode and phase, and the finalizer and default class of a new claim."""
    spec = with_volume_mode(claim.spec)
    if old is not None and spec.storage_class_name is None:
        spec = _replace(spec, storage_class_name=old.spec.storage_class_name)
    elif old is None and _lacks_class(claim):
        default = _default_class(view)
        if default is not None:
            spec = _replace(spec, storage_class_name=default.metadata.name)
    requests = rounded_up(spec.resources.requests)
    if requests is not spec.resources.requests:
        spec = _replace(spec, resources=_replace(spec.resources, requests=requests))
    status = claim.status if claim.status.phase else _replace(claim.status, phase=PENDING)
    protected = with_finalizer(claim, PVC_PROTECTION) if old is None else claim
    limits = limits_of(claim.metadata.namespace, view) if view.objects(LimitRange) else ()
    if limits:
        check_claim(_replace(claim, spec=spec), limits)
    return _replace(protected, spec=spec, status=status)


def admit_volume(volume: PersistentVolume, old: PersistentVolume | None, _: ClusterView) -> PersistentVolume:
    phase = volume.status.phase or (AVAILABLE if volume.spec.claim_ref is None else PENDING)
    if old is None:
        volume = with_finalizer(volume, PV_PROTECTION)
    return _replace(volume, spec=_volume_spec(volume.spec), status=_replace(volume.status, phase=phase))


def admit_driver(driver: CSIDriver, _: CSIDriver | None, __: ClusterView) -> CSIDriver:
    spec = driver.spec
    completed = CSIDriverSpec(
        attach_required=True if spec.attach_required is None else spec.attach_required,
        storage_capacity=bool(spec.storage_capacity),
        volume_lifecycle_modes=spec.volume_lifecycle_modes or (PERSISTENT,),
        prevent_pod_scheduling_if_missing=spec.prevent_pod_scheduling_if_missing,
    )
    return _replace(driver, spec=completed)


def with_volume_mode(spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec:
    return spec if spec.volume_mode is not None else _replace(spec, volume_mode=FILESYSTEM)


def with_rbd_defaults(rbd: RBD) -> RBD:
    return rbd if rbd.pool and rbd.user else _replace(rbd, pool=rbd.pool or RBD_POOL, user=rbd.user or RBD_USER)


def _volume_spec(spec: PersistentVolumeSpec) -> PersistentVolumeSpec:
    return _replace(
        spec,
        capacity=rounded_up(spec.capacity),
        persistent_volume_reclaim_policy=spec.persistent_volume_reclaim_policy or RETAIN,
        volume_mode=FILESYSTEM if spec.volume_mode is None else spec.volume_mode,
        rbd=None if spec.rbd is None else with_rbd_defaults(spec.rbd),
    )


def _lacks_class(claim: PersistentVolumeClaim) -> bool:
    """Return whether the claim needs the default class. Bound (imported) claims do not."""
    named = claim.spec.storage_class_name is not None or CLASS_ANNOTATION in claim.metadata.annotations
    return not named and claim.status.phase != BOUND


def _default_class(view: ClusterView) -> StorageClass | None:
    """Return the default storage class: the newest, then the first by name."""
    defaults = [known for known in view.objects(StorageClass).values() if _is_default(known)]
    return min(defaults, key=_newest_first, default=None)


def _is_default(storage_class: StorageClass) -> bool:
    return any(storage_class.metadata.annotations.get(name) == "true" for name in IS_DEFAULT_CLASS)


def _newest_first(storage_class: StorageClass) -> tuple[float, str]:
    created = storage_class.metadata.creation_timestamp
    return -timestamps.parse(created) if created else 0.0, storage_class.metadata.name
