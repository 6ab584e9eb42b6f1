# SPDX-License-Identifier: Apache-2.0
"""Finalizers: who has to do something before an object may go, and how an object says that it is on its way out.

Pure functions under `Store` and `deletion`.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from steersman.api import Namespace, Object, timestamps

ORPHAN: Final = "orphan"
"""The garbage collector takes the owner references off the dependents first."""
FOREGROUND: Final = "foregroundDeletion"
"""The garbage collector deletes the dependents first."""
KUBERNETES: Final = "kubernetes"
"""Of a namespace, in its spec: everything in it is deleted first."""
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""Of a pod: its job has counted it."""
PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
PV_PROTECTION: Final = "kubernetes.io/pv-protection"

CONTROLLED_FINALIZERS: Final = frozenset({ORPHAN, FOREGROUND, KUBERNETES, JOB_TRACKING, PVC_PROTECTION, PV_PROTECTION})
"""The finalizers that the controllers of this package remove in the end."""

TERMINATING: Final = "Terminating"

T = TypeVar("T", bound=Object)
_replace = msgspec.structs.replace


def finalizers_of(obj: Object) -> tuple[str, ...]:
    """All finalizers of an object; namespaces have some in their spec."""
    return obj.metadata.finalizers + (obj.spec.finalizers if isinstance(obj, Namespace) else ())


def is_held_up(obj: Object, awaited: frozenset[str] | None) -> bool:
    """Whether the object has one of the awaited finalizers; None are all there are."""
    finalizers = finalizers_of(obj)
    return bool(finalizers) and (awaited is None or not awaited.isdisjoint(finalizers))


def marked_as_deleting(obj: T, now: float) -> T:
    """The object with a deletion time that is not in the future and no grace period left."""
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
    """The object as a controller writes it that has done its part."""
    left = tuple(known for known in obj.metadata.finalizers if known != finalizer)
    return _replace(obj, metadata=_replace(obj.metadata, finalizers=left))


def with_finalizer(obj: T, finalizer: str) -> T:
    """The object as a controller writes it that wants to be waited for."""
    if finalizer in obj.metadata.finalizers:
        return obj
    return _replace(obj, metadata=_replace(obj.metadata, finalizers=(*obj.metadata.finalizers, finalizer)))
