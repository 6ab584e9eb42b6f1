# SPDX-License-Identifier: Apache-2.0
"""The garbage collector: deletes objects without owners, and owners in foreground deletion after
their dependents.

Uses only owner references, for all kinds including custom ones. Events of the store maintain
indexes of objects by uid and of dependents by owner. A partial dump has pods whose owners are
missing: in a cluster that `retains_pods`, only owners whose deletion was observed count as absent.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from steersman.api import Object, ObjectMeta, OwnerReference, key
from steersman.base import GroupedDict, LayeredDict
from steersman.base.graph_copy import copied_attributes, shallow, shared_by_copies
from steersman.cluster.controllers.controller import Cluster, Controller, group
from steersman.cluster.store import EventType, NotFound, Propagation, delete
from steersman.cluster.store.finalizers import FOREGROUND, ORPHAN, without_finalizer

INVALID_NAMESPACE: Final = "OwnerRefInvalidNamespace"
_MAX_REMEMBERED: Final = 10_000
"""Maximum number of deleted uids to remember."""

_replace = msgspec.structs.replace


@shared_by_copies
class _Place(NamedTuple):
    """Kind and key of an object."""

    kind: type[Object]
    key: str


@copied_attributes(_gone=shallow)
class GarbageCollector(Controller):
    """Garbage collector; keys are uids."""

    NAME = "garbage-collector"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._places: LayeredDict[str, _Place] = LayeredDict()
        #: owner uid → uids of its dependents, in order.
        self._dependents: GroupedDict[str, str, None] = GroupedDict()
        #: Uids of deleted objects, latest last.
        self._gone: dict[str, None] = {}
        self.store.subscribe(self._on_event, None)

    # -- events ------------------------------------------------------------------------------------

    def _on_event(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._on_removed(old)
        elif old is None:
            self._came(new)
        else:
            before, now = old.metadata, new.metadata
            if before.owner_references is not now.owner_references:
                self._reattach(now.uid, before, now)
            if now.deletion_timestamp is not None and now.finalizers:
                self.enqueue(now.uid)
                self._enqueue_dependents_of(now)

    def _came(self, obj: Object) -> None:
        meta = obj.metadata
        self._places.put(meta.uid, _Place(type(obj), key(obj)))
        self._gone.pop(meta.uid, None)
        if meta.owner_references:
            self._attach(meta)
        if meta.deletion_timestamp is not None:
            self.enqueue(meta.uid)

    def _on_removed(self, obj: Object) -> None:
        meta = obj.metadata
        self._places.pop(meta.uid)
        self._gone[meta.uid] = None
        if len(self._gone) > _MAX_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        self._detach(meta.uid, meta.owner_references)
        for dependent in self._dependents.entries_of(meta.uid):
            self.enqueue(dependent)

    def _reattach(self, uid: str, before: ObjectMeta, now: ObjectMeta) -> None:
        if before.owner_references != now.owner_references:
            self._detach(uid, before.owner_references)
            self._attach(now)

    def _attach(self, meta: ObjectMeta) -> None:
        for reference in meta.owner_references:
            self._dependents.put(reference.uid, meta.uid, None)
            place = self._places.get(reference.uid)
            if place is None or (place.kind.NAMESPACED and not place.key.startswith(f"{meta.namespace}/")):
                self.enqueue(meta.uid)

    def _detach(self, uid: str, references: tuple[OwnerReference, ...]) -> None:
        for reference in references:
            if reference.uid not in self._dependents:
                continue
            self._dependents.remove(reference.uid, uid)
            owner = self._find(reference.uid)
            if owner is not None and _waits_for_dependents(owner.metadata):
                self.enqueue(reference.uid)

    def _enqueue_dependents_of(self, owner: ObjectMeta) -> None:
        if _waits_for_dependents(owner):
            for dependent in self._dependents.entries_of(owner.uid):
                self.enqueue(dependent)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, uid: str) -> None:
        obj = self._find(uid)
        if obj is None:
            return
        if obj.metadata.deletion_timestamp is None:
            if obj.metadata.owner_references:
                self._collect(obj)
        elif FOREGROUND in obj.metadata.finalizers:
            self._finish_foreground(obj)
        elif ORPHAN in obj.metadata.finalizers:
            self._orphan_dependents(obj)

    def _find(self, uid: str) -> Object | None:
        place = self._places.get(uid)
        return None if place is None else self.store.find(place.kind, place.key)

    def _collect(self, obj: Object) -> None:
        """Delete the object unless an owner remains; remove references to other owners."""
        references = obj.metadata.owner_references
        solid = tuple(reference for reference in references if self._is_solid(obj, reference))
        if solid:
            if len(solid) < len(references):
                self.store.update(_with_owners(obj, solid))
            return
        self._delete(obj, self._propagation(obj))

    def _is_solid(self, obj: Object, reference: OwnerReference) -> bool:
        """Return whether the owner exists and is not in foreground deletion."""
        if reference.uid in self._gone:
            return False
        owner = self._find(reference.uid)
        if owner is None:
            return self.cluster.retains_pods
        if not _refers_to(obj, reference, owner):
            self._record_invalid_namespace(obj, reference, owner)
            return False
        return not _waits_for_dependents(owner.metadata)

    def _propagation(self, obj: Object) -> Propagation:
        """Return Foreground if an owner waits and dependents exist, else by the finalizers."""
        owners = (self._find(reference.uid) for reference in obj.metadata.owner_references)
        if obj.metadata.uid in self._dependents and any(o and _waits_for_dependents(o.metadata) for o in owners):
            self._break_circle(obj)
            return "Foreground"
        if ORPHAN in obj.metadata.finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in obj.metadata.finalizers else "Background"

    def _break_circle(self, obj: Object) -> None:
        """Unblock the owners of an object whose dependents are waiting too."""
        dependents = map(self._find, self._dependents.entries_of(obj.metadata.uid))
        if any(dependent and _waits_for_dependents(dependent.metadata) for dependent in dependents):
            unblocked = (_replace(owner, block_owner_deletion=False) for owner in obj.metadata.owner_references)
            self.store.update(_with_owners(obj, tuple(unblocked)))

    def _finish_foreground(self, owner: Object) -> None:
        """Remove the owner's finalizer once no blocking dependents remain."""
        uid = owner.metadata.uid
        if not any(_blocks(self._find(dependent), uid) for dependent in self._dependents.entries_of(uid)):
            self.store.update(without_finalizer(owner, FOREGROUND))

    def _orphan_dependents(self, owner: Object) -> None:
        uid = owner.metadata.uid
        for dependent in tuple(self._dependents.entries_of(uid)):
            obj = self._find(dependent)
            if obj is not None:
                left = tuple(known for known in obj.metadata.owner_references if known.uid != uid)
                self.store.update(_with_owners(obj, left))
        self.store.update(without_finalizer(owner, ORPHAN))

    def _delete(self, obj: Object, propagation: Propagation) -> None:
        try:
            delete(self.store, type(obj), key(obj), propagation=propagation, uid=obj.metadata.uid)
        except NotFound:
            return

    def _record_invalid_namespace(self, obj: Object, reference: OwnerReference, owner: Object) -> None:
        if owner.metadata.namespace != obj.metadata.namespace:
            coordinates = (reference.api_version, reference.kind, reference.name, reference.uid)
            named = "[{}/{}, namespace: {}, name: {}, uid: {}]".format(
                *coordinates[:2], obj.metadata.namespace, *coordinates[2:]
            )
            message = f'ownerRef {named} does not exist in namespace "{obj.metadata.namespace}"'
            self.cluster.record(obj, INVALID_NAMESPACE, message, is_warning=True)


def _waits_for_dependents(meta: ObjectMeta) -> bool:
    return meta.deletion_timestamp is not None and FOREGROUND in meta.finalizers


def _refers_to(obj: Object, reference: OwnerReference, owner: Object) -> bool:
    """Return whether the owner matches the reference and its scope allows it."""
    if owner.NAMESPACED and owner.metadata.namespace != obj.metadata.namespace:
        return False
    is_kind = reference.kind == owner.KIND and group(reference.api_version) == group(owner.API_VERSION)
    return is_kind and reference.name == owner.metadata.name


def _blocks(dependent: Object | None, owner_uid: str) -> bool:
    if dependent is None:
        return False
    references = dependent.metadata.owner_references
    return any(known.uid == owner_uid and known.block_owner_deletion for known in references)


def _with_owners(obj: Object, references: tuple[OwnerReference, ...]) -> Object:
    return _replace(obj, metadata=_replace(obj.metadata, owner_references=references))
