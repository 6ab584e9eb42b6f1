# SPDX-License-Identifier: Apache-2.0
"""Finalizers: work required before an object may be removed, and marks of terminating objects.

Pure functions used by `Store` and `deletion`.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from steersman.api import Namespace, Object, timestamps

ORPHAN: Final = "orphan"
"""The garbage collector first removes the owner references of dependents."""
FOREGROUND: Final = "foregroundDeletion"
"""The garbage collector first deletes the dependents."""
KUBERNETES: Final = "kubernetes"
"""Finalizer in a namespace's spec: its contents are deleted first."""
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""Finalizer of a pod until its Job has counted it."""
DEFINITION: Final = "CustomResourceDefinition"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of a deleted CustomResourceDefinition: its objects are deleted first."""
PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
PV_PROTECTION: Final = "kubernetes.io/pv-protection"
POD_GROUP_PROTECTION: Final = "scheduling.k8s.io/podgroup-protection"

CONTROLLED_FINALIZERS: Final = frozenset(
    {ORPHAN, FOREGROUND, KUBERNETES, JOB_TRACKING, PVC_PROTECTION, PV_PROTECTION, POD_GROUP_PROTECTION}
)
"""Finalizers that the controllers of this package remove."""

TERMINATING: Final = "Terminating"

T = TypeVar("T", bound=Object)
_replace = msgspec.structs.replace


def finalizers_of(obj: Object) -> tuple[str, ...]:
    """Return all finalizers of an object, including those in a namespace's spec."""
    return obj.metadata.finalizers + (obj.spec.finalizers if isinstance(obj, Namespace) else ())


def is_held_up(obj: Object, awaited: frozenset[str] | None) -> bool:
    """Return whether the object has one of the awaited finalizers; None awaits all."""
    finalizers = finalizers_of(obj)
    return bool(finalizers) and (awaited is None or not awaited.isdisjoint(finalizers))


def marked_as_deleting(obj: T, now: float) -> T:
    """Return the object with a deletion time not in the future and no grace period."""
    meta = obj.metadata
    end = meta.deletion_timestamp
    if end is None or timestamps.parse(end) > now:
        end = timestamps.render(now)
    metadata = _replace(
        meta,
        deletion_timestamp=end,
        deletion_grace_period_seconds=0,
        generation=meta.generation + (1 if meta.generation and meta.deletion_timestamp is None else 0),
    )
    return _replace(obj, metadata=metadata)


def without_finalizer(obj: T, finalizer: str) -> T:
    """Return the object without the finalizer."""
    left = tuple(known for known in obj.metadata.finalizers if known != finalizer)
    return _replace(obj, metadata=_replace(obj.metadata, finalizers=left))


def with_finalizer(obj: T, finalizer: str) -> T:
    """Return the object with the finalizer added."""
    if finalizer in obj.metadata.finalizers:
        return obj
    return _replace(obj, metadata=_replace(obj.metadata, finalizers=(*obj.metadata.finalizers, finalizer)))
