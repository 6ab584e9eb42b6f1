# SPDX-License-Identifier: Apache-2.0
"""Deletion as in a kube-apiserver: preconditions, grace periods, propagation, finalizers.

`delete` removes an object, or marks it while others have work to do: kubelets stop pods, the
garbage collector deletes or orphans dependents, the namespace controller empties namespaces, users'
controllers remove their finalizers. Removing the last finalizer removes the object (see `Store`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, TypeVar, cast

import msgspec

from steersman.api import Job, Namespace, Object, Pod, ReplicationController, key
from steersman.cluster.store.errors import Conflict, Forbidden
from steersman.cluster.store.finalizers import CLEANUP, DEFINITION, FOREGROUND, ORPHAN, TERMINATING, is_held_up
from steersman.cluster.store.pods import Pods
from steersman.cluster.store.store import Store

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]

ORPHANING_KINDS: Final = (Job, ReplicationController)
"""Kinds whose dependents are orphaned by default."""
UNDELETABLE_NAMESPACES: Final = ("default", "kube-system", "kube-public")
MAY_NOT_BE_DELETED: Final = "this namespace may not be deleted"
_GC_FINALIZERS: Final = {"Foreground": FOREGROUND, "Orphan": ORPHAN}

T = TypeVar("T", bound=Object)
_replace = msgspec.structs.replace


def delete(
    store: Store,
    kind: type[T],
    key: str,
    *,
    propagation: Propagation | None = None,
    grace_period_seconds: int | None = None,
    uid: str = "",
    resource_version: str = "",
) -> tuple[T, bool]:
    """Delete an object; return its current or last state, and whether it is gone.

    `propagation` defaults to the object's finalizers, then to the default of the kind. Only pods
    have a grace period, by default their own. Raises `NotFound`, `Forbidden`, or `Conflict` if a
    precondition fails.
    """
    obj = store.get(kind, key)
    check_preconditions(obj, uid, resource_version)
    if isinstance(obj, Namespace):
        deleted: Object = _delete_namespace(store, obj, propagation)
    elif isinstance(obj, Pod):
        finalizers = collected_finalizers(obj, propagation)
        deleted = Pods(store).delete(key, grace_period_seconds=grace_period_seconds, finalizers=finalizers)
    else:
        deleted = store.delete(kind, key, finalizers=collected_finalizers(obj, propagation))
    return cast("T", deleted), store.find(kind, key) is None


def check_preconditions(obj: Object, uid: str, resource_version: str) -> None:
    """Raise `Conflict` if the object's uid or version differs; "" matches any."""
    meta = obj.metadata
    if uid and uid != meta.uid:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise _precondition_failed(obj, why, f"UID in precondition: {uid}, UID in object meta: {meta.uid}")
    if resource_version and resource_version != meta.resource_version:
        why = (
            f"the ResourceVersion in the precondition ({resource_version}) does not match the ResourceVersion in record "
            f"({meta.resource_version}). The object might have been modified"
        )
        precondition = f"ResourceVersion in precondition: {resource_version}"
        raise _precondition_failed(obj, why, f"{precondition}, ResourceVersion in object meta: {meta.resource_version}")


def collected_finalizers(obj: Object, propagation: Propagation | None) -> tuple[str, ...]:
    """Return the object's finalizers, adjusted for the garbage collector's treatment of
    dependents."""
    own = obj.metadata.finalizers
    if obj.KIND == DEFINITION and CLEANUP not in own:
        own = (*own, CLEANUP)
    wanted = _GC_FINALIZERS.get(propagation) if propagation else _default_gc_finalizer(obj)
    if (wanted is None or wanted in own) and not _other_gc_finalizers(own, wanted):
        return own
    kept = tuple(finalizer for finalizer in own if finalizer not in (ORPHAN, FOREGROUND))
    return kept if wanted is None else (*kept, wanted)


def _default_gc_finalizer(obj: Object) -> str | None:
    for finalizer in obj.metadata.finalizers:
        if finalizer in (ORPHAN, FOREGROUND):
            return finalizer
    return ORPHAN if isinstance(obj, ORPHANING_KINDS) else None


def _other_gc_finalizers(own: tuple[str, ...], wanted: str | None) -> bool:
    return any(finalizer in own for finalizer in (ORPHAN, FOREGROUND) if finalizer != wanted)


def _delete_namespace(store: Store, namespace: Namespace, propagation: Propagation | None) -> Namespace:
    """Mark the namespace as terminating; remove it only once it is marked and has no finalizers."""
    name = namespace.metadata.name
    if name in UNDELETABLE_NAMESPACES:
        raise Forbidden(Namespace, name, MAY_NOT_BE_DELETED)
    finalizers = collected_finalizers(namespace, propagation)
    with_finalizers = _replace(namespace, metadata=_replace(namespace.metadata, finalizers=finalizers))
    if not is_held_up(with_finalizers, store.awaited_finalizers):
        return store.delete(Namespace, name, finalizers=finalizers)
    if namespace.metadata.deletion_timestamp is not None:
        return namespace
    metadata = _replace(with_finalizers.metadata, deletion_timestamp=store.timestamp())
    status = _replace(namespace.status, phase=TERMINATING)
    return store.rewrite(namespace, _replace(namespace, metadata=metadata, status=status))


def _precondition_failed(obj: Object, why: str, of_namespaces: str) -> Conflict:
    """Return the precondition error; namespaces have a message of their own upstream."""
    if isinstance(obj, Namespace):
        return Conflict(Namespace, key(obj), f"Precondition failed: {of_namespaces}")
    return Conflict(type(obj), key(obj), why, names_kind=True)
