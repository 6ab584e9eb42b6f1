# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster's store: typed objects by kind and key, versioned as by kube-apiserver.

Manifests, simulated kubelets and the scheduler's bindings write here; the scheduler's ingest
subscribes, clients list and watch. Writes are synchronous: on return, the write is logged
(`history`) and subscribers (`subscriptions`) are notified. `admission` completes objects as an API
server does, `pods` has the subresources of pods.

A store that `keeps_documents` also holds the whole JSON of every object (`documents`), for clients
that read more than the scheduler does. Other stores, used by simulations, hold only structs.

Intentional differences to a real API server: uid, creation time, generation and status of a created
object are kept if given, so that dumps of real clusters load unchanged. A deletion waits only for
`awaited_finalizers`, because a dump is full of finalizers whose controllers do not run here: none
by default, in simulations those that its controllers remove, and all (None) if users run
controllers of their own. An object with a pending deletion is removed by the update that removes
the last of these finalizers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypeVar, cast

import msgspec

from steersman.api import Namespace, Object, ObjectMeta, Selector, key, timestamps
from steersman.base import Clock
from steersman.base.graph_copy import copied_attributes, two_levels
from steersman.cluster.store.documents import Document, carried, document_of
from steersman.cluster.store.errors import AlreadyExists, Conflict, NotFound
from steersman.cluster.store.finalizers import is_held_up, marked_as_deleting
from steersman.cluster.store.history import ADDED, DELETED, MODIFIED, Commit, EventType, WriteHistory
from steersman.cluster.store.server_metadata import name_to_store, stamped, with_metadata_of_server
from steersman.cluster.store.subscriptions import Listener, Subscription, Subscriptions

T = TypeVar("T", bound=Object)
_Objects: TypeAlias = list[Object]

HISTORY_LENGTH: Final = 4096
"""Minimum number of writes that a watch may lag behind."""
FIRST_VERSION: Final = 1
"""Version of an empty store: not 0, which requests the current objects from a watch."""

_replace = msgspec.structs.replace


class ClusterView(Protocol):
    """Read-only view of the store for admission."""

    @property
    def keeps_documents(self) -> bool: ...

    def find(self, kind: type[T], key: str) -> T | None: ...

    def objects(self, kind: type[T]) -> Mapping[str, T]: ...

    def timestamp(self) -> str: ...


class Admission(Protocol):
    """Completes or rejects an object before it is stored; `old` is None for a new one."""

    def __call__(self, obj: T, old: T | None, view: ClusterView) -> T: ...


@copied_attributes(_objects=two_levels)
class Store:
    """Versioned objects by kind and key. With `admission`, missing namespaces are created."""

    def __init__(
        self,
        clock: Clock,
        *,
        admission: Admission | None = None,
        history: int = HISTORY_LENGTH,
        keeps_documents: bool = False,
        awaited_finalizers: frozenset[str] | None = frozenset(),
    ) -> None:
        self.clock = clock
        self.awaited_finalizers = awaited_finalizers
        #: Documents by kind and key, like `_objects`; None if documents are not stored.
        self._documents: dict[type[Object], dict[str, Document]] | None = {} if keeps_documents else None
        self._admission = admission
        self._objects: dict[type[Object], dict[str, Object]] = {}
        self._version = FIRST_VERSION
        self._history = WriteHistory(history, FIRST_VERSION)
        self._subscriptions = Subscriptions()
        #: Called with every write before subscribers, such as a journal on disk, which misses none.
        self.journal: Callable[[Commit], None] | None = None
        #: Undo log of `dry_run`; None outside of it.
        self._undo: list[tuple[Object | None, Object | None, Document | None]] | None = None
        #: Indexes by class, created at first use. They are stored here, as they refer to the store
        #: and must have its lifetime.
        self.indexes: dict[type, object] = {}
        #: Called before reading a document (by key) or all (None), to update fields for readers.
        self.before_read: dict[type[Object], Callable[[str | None], None]] = {}
        self._second = -1
        self._timestamp = ""

    # -- reading -----------------------------------------------------------------------------------

    @property
    def resource_version(self) -> str:
        """Version of the latest write."""
        return str(self._version)

    @property
    def keeps_documents(self) -> bool:
        """Whether the whole JSON of objects is stored beside the structs."""
        return self._documents is not None

    @property
    def version(self) -> int:
        """Version of the latest write, as a number."""
        return self._version

    def find(self, kind: type[T], key: str) -> T | None:
        """Return the object, or None."""
        return cast("T | None", self._of_kind(kind).get(key))

    def get(self, kind: type[T], key: str) -> T:
        """Return the object. Raises `NotFound`."""
        found = self._of_kind(kind).get(key)
        if found is None:
            raise NotFound(kind, key)
        return cast("T", found)

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """Return a live view of all objects of a kind by key, in creation order."""
        return MappingProxyType(cast("dict[str, T]", self._of_kind(kind)))

    @property
    def kinds(self) -> Sequence[type[Object]]:
        """Kinds that have objects."""
        return [kind for kind, objects in self._objects.items() if objects]

    def document(self, kind: type[Object], key: str) -> Document:
        """Return the object with every field; it must not be mutated. Raises `NotFound`. Converted
        from the struct if documents are not stored."""
        obj = self.get(kind, key)
        if self._documents is None:
            return document_of(obj)
        if kind in self.before_read:
            self.before_read[kind](key)
        return self._documents[kind][key]

    def documents(self, kind: type[Object]) -> Mapping[str, Document]:
        """Return a live, read-only view of a kind's documents by key; empty if none are stored."""
        if kind in self.before_read:
            self.before_read[kind](None)
        return MappingProxyType((self._documents or {}).get(kind, {}))

    def list(
        self, kind: type[T], namespace: str | None = None, selector: Selector | None = None
    ) -> tuple[Sequence[T], str]:
        """Return the objects sorted by key, and the version to continue with a watch."""
        objects = self._of_kind(kind)
        matching = [
            obj
            for _, obj in sorted(objects.items())
            if (namespace is None or obj.metadata.namespace == namespace)
            and (selector is None or selector.matches(obj.metadata.labels))
        ]
        return cast("Sequence[T]", matching), self.resource_version

    def commits_since(self, version: int) -> Sequence[Commit]:
        """Return all writes after a version. Raise `Expired` if the history begins later."""
        return self._history.since(version)

    async def next_commit(self) -> None:
        """Wait for the next write."""
        await self._history.next_change()

    def subscribe(self, listener: Listener, kinds: Iterable[type[Object]] | None) -> Subscription:
        """Call the listener for every existing object as ADDED, kind by kind, then for every write.

        `kinds` None means all kinds, including those without objects yet.
        """
        kinds = None if kinds is None else tuple(kinds)
        initial = self._current_objects(self.kinds if kinds is None else kinds)
        return self._subscriptions.add(listener, kinds, self._version, initial)

    def timestamp(self) -> str:
        """Return the current time in the format of objects."""
        now = self.clock.now()
        second = int(now)
        if second != self._second:
            self._second, self._timestamp = second, timestamps.render(now)
        return self._timestamp

    # -- writing -----------------------------------------------------------------------------------

    def create(self, obj: T, document: Document | None = None) -> T:
        """Store a new object, completed with name, namespace, uid, version and time. Raises
        `AlreadyExists`.

        `document`, here and below, is the whole JSON of `obj`; completions apply to both.
        """
        name, namespace = name_to_store(obj, self._version + 1)
        kind = type(obj)
        place = f"{namespace}/{name}" if kind.NAMESPACED else name
        objects = self._of_kind(kind)
        if place in objects:
            raise AlreadyExists(kind, place)
        stored = stamped(obj, name, namespace, self._version + 1, self.timestamp())
        if self._admission is not None:
            stored = self._admission(stored, None, self)
            if kind.NAMESPACED and namespace not in self._of_kind(Namespace):
                self.create(Namespace(metadata=ObjectMeta(name=namespace)))
                # Repeat, because the namespace took the version that the uid depends on, and labels
                # may contain the uid.
                restamped = stamped(obj, name, namespace, self._version + 1, self.timestamp())
                stored = self._admission(restamped, None, self)
        objects[place] = stored
        whole = None if self._documents is None else self._kept_document(place, obj, stored, document)
        self._record(kind, ADDED, None, stored, whole)
        return stored

    def update(self, obj: T, document: Document | None = None) -> T:
        """Update everything but the status. Raises `Conflict` unless the resource version, if any,
        is current.

        `document` must contain the stored status.
        """
        old = self._current(obj)
        if hasattr(old, "status"):
            obj = _replace(obj, status=old.status)
        return self._written(old, self._admitted(old, obj), obj, document)

    def update_status(self, obj: T, document: Document | None = None) -> T:
        """Update only the status; `document` must otherwise equal the stored one."""
        old = self._current(obj)
        new = _replace(old, status=getattr(obj, "status", None))
        return self._written(old, new, new, document)

    def replace(self, obj: T, document: Document | None = None) -> T:
        """Update spec and status together, which API clients cannot do."""
        old = self._current(obj)
        return self._written(old, self._admitted(old, obj), obj, document)

    def delete(self, kind: type[T], key: str, uid: str = "", *, finalizers: tuple[str, ...] | None = None) -> T:
        """Remove the object, or mark it as terminating while finalizers delay it; return its last
        state.

        `finalizers`, if given, replace the object's. Raises `Conflict` for another uid. `deletion`
        implements the deletion options of API clients.
        """
        old = self.get(kind, key)
        check_uid(old, uid)
        final = old if finalizers is None else _replace(old, metadata=_replace(old.metadata, finalizers=finalizers))
        if is_held_up(final, self.awaited_finalizers):
            marked = marked_as_deleting(final, self.clock.now())
            return old if marked == old else self.rewrite(old, marked)
        return self._remove(old)

    def rewrite(self, old: T, new: T, document: Document | None = None) -> T:
        """Replace the stored `old` by `new` without checks, as the next version; the basis of all
        updates.

        Without `document`, the stored one gets the differences between `old` and `new`.
        """
        metadata = _replace(new.metadata, resource_version=str(self._version + 1))
        place = key(old)
        stored = self._objects[type(old)][place] = _replace(new, metadata=metadata)
        if self._documents is None:
            self._record(type(old), MODIFIED, old, stored)
            return stored
        before = self._documents[type(old)][place]
        whole = self._kept_document(place, old if document is None else new, stored, document or before)
        self._record(type(old), MODIFIED, old, stored, whole, before)
        return stored

    def restore(self, version: int, objects: Iterable[tuple[T, Document]], commits: Sequence[Commit]) -> None:
        """Fill an empty store with version, objects and latest commits of another one, without
        notifying subscribers."""
        assert self._documents is not None, "what is restored are documents"
        assert self._version == FIRST_VERSION, "only an empty store is filled"
        for obj, document in objects:
            self._of_kind(type(obj))[key(obj)] = obj
            self._documents.setdefault(type(obj), {})[key(obj)] = document
        self._version = version
        self._history.restore(version, commits)

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Make writes visible only inside the block: they are undone at its end, without
        notifications. The block must not await."""
        self._undo = []
        try:
            yield
        finally:
            undo, self._undo = self._undo, None
            for old, new, document in reversed(undo):
                self._put_back(old, new, document)

    # -- inside ------------------------------------------------------------------------------------

    def _put_back(self, old: Object | None, new: Object | None, document: Document | None) -> None:
        """Undo an unrecorded write that replaced `old` by `new`."""
        written = new or old
        assert written is not None, "a write has an object"
        kind, place = type(written), key(written)
        documents = {} if self._documents is None else self._documents.setdefault(kind, {})
        if old is None:
            del self._objects[kind][place]
            documents.pop(place, None)
        else:
            seen = str((document or {}).get("metadata", {}).get("resourceVersion", old.metadata.resource_version))
            self._objects[kind][place] = _replace(old, metadata=_replace(old.metadata, resource_version=seen))
            documents[place] = document or {}

    def _remove(self, old: T) -> T:
        kind, place = type(old), key(old)
        gone = _replace(old, metadata=_replace(old.metadata, resource_version=str(self._version + 1)))
        del self._objects[kind][place]
        last = None if self._documents is None else self._documents[kind].pop(place)
        self._record(kind, DELETED, gone, None, None if last is None else carried(last, old, gone), last)
        return gone

    def _of_kind(self, kind: type[Object]) -> dict[str, Object]:
        objects = self._objects.get(kind)
        if objects is None:
            objects = self._objects[kind] = {}
        return objects

    def _current_objects(self, kinds: Iterable[type[Object]]) -> _Objects:
        return [obj for kind in kinds for obj in self._of_kind(kind).values()]

    def _kept_document(self, place: str, seen: Object, stored: Object, document: Document | None) -> Document:
        """Store the document of the struct `seen`, completed like `stored`."""
        assert self._documents is not None, "only a store that keeps documents has any"
        whole = document_of(stored) if document is None else carried(document, seen, stored)
        self._documents.setdefault(type(stored), {})[place] = whole
        return whole

    def _record(
        self,
        kind: type[Object],
        what: EventType,
        old: Object | None,
        new: Object | None,
        document: Document | None = None,
        old_document: Document | None = None,
    ) -> None:
        if self._undo is not None:
            self._undo.append((old, new, old_document))
            return
        self._version += 1
        commit = Commit(self._version, kind, what, old, new, document, old_document)
        self._history.append(commit)
        if self.journal is not None:
            self.journal(commit)
        self._subscriptions.publish(commit)

    def _current(self, obj: T) -> T:
        """Return the stored object. Raise `Conflict` if the writer's version is outdated."""
        name, namespace = name_to_store(obj, self._version + 1)
        old = self.get(type(obj), f"{namespace}/{name}" if obj.NAMESPACED else name)
        check_uid(old, obj.metadata.uid)
        seen = obj.metadata.resource_version
        if seen and seen != old.metadata.resource_version:
            raise Conflict(type(obj), key(old))
        return old

    def _admitted(self, old: T, new: T) -> T:
        return new if self._admission is None else self._admission(new, old, self)

    def _written(self, old: T, new: T, seen: T, document: Document | None) -> T:
        """Store `new`, with the stored server-set metadata, unless nothing changed.

        `document` is that of `seen`, from which admission made `new`.
        """
        new = with_metadata_of_server(old, new)
        metadata = new.metadata
        if metadata.deletion_timestamp is not None and self._is_released(old, new):
            gone = self._remove(old)
            return _replace(new, metadata=_replace(metadata, resource_version=gone.metadata.resource_version))
        stored: Document = {}
        if document is not None and self._documents is not None:
            stored, document = self._documents[type(old)][key(old)], carried(document, seen, new)
        else:
            document = None
        if new == old and (document is None or document == stored):
            return old
        if metadata.generation and (_spec(new) != _spec(old) or (document or {}).get("spec") != stored.get("spec")):
            counted = _replace(new, metadata=_replace(new.metadata, generation=metadata.generation + 1))
            new, document = counted, None if document is None else carried(document, new, counted)
        return self.rewrite(old, new, document)

    def _is_released(self, old: T, new: T) -> bool:
        """Return whether the finalizers that `new` lacks were the last to delay the deletion."""
        awaited, period = self.awaited_finalizers, old.metadata.deletion_grace_period_seconds
        return not period and is_held_up(old, awaited) and not is_held_up(new, awaited)


_REGISTRY: Final = {"nodes": "minions", "services": "services/specs", "endpoints": "services/endpoints"}
"""etcd paths of resources, as in upstream's messages, if they are not the plural."""


def check_uid(obj: Object, uid: str) -> None:
    """Raise `Conflict` unless `uid` is empty or the object's."""
    if uid and uid != obj.metadata.uid:
        place = f"/registry/{_REGISTRY.get(obj.PLURAL, obj.PLURAL)}/{key(obj)}"
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {obj.metadata.uid}"
        why = f"StorageError: invalid object, Code: 4, Key: {place}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise Conflict(type(obj), key(obj), why)


def _spec(obj: Object) -> object:
    return getattr(obj, "spec", None)
