# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster's store: typed objects by kind and key, versioned as a kube-apiserver versions them.

Manifests, the simulated kubelets and the scheduler's bindings write here; the scheduler's ingest listens through
`subscribe`, everybody else lists and watches. Plain synchronous code: a write is done, logged (`history`) and told to
listeners (`subscriptions`) when the call returns. What an API server adds to an object before it stores it is the
business of `admission`, subresources of pods that of `pods`.

A store that `keeps_documents` also holds the whole JSON of every object (`documents`), for clients that read more of it than
the scheduler does. In others, which simulations use, the structs are all there is.

Differences to a real API server, on purpose: uid, creation time, generation and status of a created object are kept where
given, so that dumps of real clusters load as they are. A deletion waits only for `awaited_finalizers`, because a dump is full
of finalizers whose controllers do not run here: by default for none, in simulations for those that the controllers in it
remove, and for all (None) where users bring controllers of their own. An object whose deletion waits goes with the update
that removes the last of these finalizers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypeVar, cast

import msgspec

from steersman.api import Namespace, Object, ObjectMeta, key, timestamps
from steersman.api.selectors import Selector
from steersman.clock import Clock
from steersman.embedded.documents import Document, carried, document_of
from steersman.embedded.errors import AlreadyExists, Conflict, Invalid, NotFound
from steersman.embedded.finalizers import is_held_up, marked_as_deleting
from steersman.embedded.history import ADDED, DELETED, MODIFIED, Commit, EventType, WriteHistory
from steersman.embedded.server_metadata import name_to_store, stamped, with_metadata_of_server
from steersman.embedded.subscriptions import Listener, Subscription, Subscriptions
from steersman.embedded.watch import Filter, Watch
from steersman.graph_copy import copied_attributes, two_levels

T = TypeVar("T", bound=Object)
_Objects: TypeAlias = list[Object]

HISTORY_LENGTH: Final = 4096
"""So many writes, at least, a watch may lag behind."""
FIRST_VERSION: Final = 1
"""The version of an empty store. Not 0, which asks a watch for the current objects first."""
_LONGEST_VERSION: Final = 20
NOT_A_VERSION: Final = "resourceVersion: Invalid value"

_replace = msgspec.structs.replace


class ClusterView(Protocol):
    """The view that admission has: the store without its writing half."""

    @property
    def keeps_documents(self) -> bool: ...

    def find(self, kind: type[T], key: str) -> T | None: ...

    def objects(self, kind: type[T]) -> Mapping[str, T]: ...

    def timestamp(self) -> str: ...


class Admission(Protocol):
    """Completes or refuses an object before it is stored; `old` is None for a new one."""

    def __call__(self, obj: T, old: T | None, view: ClusterView) -> T: ...


@copied_attributes(_objects=two_levels)
class Store:
    """Versioned objects by kind and key. With `admission`, missing namespaces are created with the first object in them."""

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
        #: By kind and key, the same as `_objects`; None if no documents are kept.
        self._documents: dict[type[Object], dict[str, Document]] | None = {} if keeps_documents else None
        self._admission = admission
        self._objects: dict[type[Object], dict[str, Object]] = {}
        self._version = FIRST_VERSION
        self._history = WriteHistory(history, FIRST_VERSION)
        self._subscriptions = Subscriptions()
        #: Called with every write before listeners are told; for those who have to miss none, as a journal on disk.
        self.journal: Callable[[Commit], None] | None = None
        #: What `dry_run` has to put back; None: writes are made.
        self._undo: list[tuple[Object | None, Object | None, Document | None]] | None = None
        #: Indexes of the objects, each made by those who need it first, by class. They are here, and not in a table beside, so
        #: that they go with the store: they refer to it.
        self.indexes: dict[type, object] = {}
        self._second = -1
        self._timestamp = ""

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def resource_version(self) -> str:
        """The version of the latest write."""
        return str(self._version)

    @property
    def keeps_documents(self) -> bool:
        """Whether the whole JSON of objects is kept beside the structs."""
        return self._documents is not None

    @property
    def version(self) -> int:
        """The version of the latest write, as a number."""
        return self._version

    def find(self, kind: type[T], key: str) -> T | None:
        """The object, or None."""
        return cast("T | None", self._of_kind(kind).get(key))

    def get(self, kind: type[T], key: str) -> T:
        """The object; raises `NotFound`."""
        found = self._of_kind(kind).get(key)
        if found is None:
            raise NotFound(kind, key)
        return cast("T", found)

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """A live view of all objects of a kind by key, in the order of their creation."""
        return MappingProxyType(cast("dict[str, T]", self._of_kind(kind)))

    @property
    def kinds(self) -> Sequence[type[Object]]:
        """The kinds of which there are objects."""
        return [kind for kind, objects in self._objects.items() if objects]

    def document(self, kind: type[Object], key: str) -> Document:
        """The object with every field, to be treated as frozen; raises `NotFound`. Made of the struct where none are kept."""
        obj = self.get(kind, key)
        if self._documents is None:
            return document_of(obj)
        return self._documents[kind][key]

    def documents(self, kind: type[Object]) -> Mapping[str, Document]:
        """A live view of all documents of a kind by key, to be treated as frozen; empty where none are kept."""
        return MappingProxyType((self._documents or {}).get(kind, {}))

    def list(
        self, kind: type[T], namespace: str | None = None, selector: Selector | None = None
    ) -> tuple[Sequence[T], str]:
        """The objects in the order of their keys, and the version from which a watch goes on."""
        wanted, objects = Filter(namespace, selector), self._of_kind(kind)
        matching = [objects[name] for name in sorted(objects) if wanted.matches(objects[name])]
        return cast("Sequence[T]", matching), self.resource_version

    def watch(
        self,
        kinds: Iterable[type[Object]],
        since: str = "",
        *,
        namespace: str | None = None,
        selector: Selector | None = None,
        bookmarks: bool = False,
    ) -> Watch:
        """All writes after the version `since`; without one, or "0", the current objects come first, as added.

        Raises `Expired` for a version before the history. With `bookmarks` the watcher also learns of versions in
        which nothing of interest happened.
        """
        kinds = tuple(kinds)
        initial: _Objects = []
        version = self._version
        if since in ("", "0"):
            initial = self._current_objects(kinds)
        else:
            version = self._parsed(since, kinds[0])
            self._history.since(version)
        return Watch(self._history, kinds, version, initial, Filter(namespace, selector), bookmarks)

    def commits_since(self, version: int) -> Sequence[Commit]:
        """The writes to all kinds after a version; raises `Expired` for one before the history."""
        return self._history.since(version)

    async def next_commit(self) -> None:
        """Returns after the next write."""
        await self._history.next_change()

    def subscribe(self, listener: Listener, kinds: Iterable[type[Object]] | None) -> Subscription:
        """Calls the listener for every object there is, as added, kind after kind, then for every write.

        None are all kinds, also those of which there are no objects yet.
        """
        kinds = None if kinds is None else tuple(kinds)
        initial = self._current_objects(self.kinds if kinds is None else kinds)
        return self._subscriptions.add(listener, kinds, self._version, initial)

    def timestamp(self) -> str:
        """Now, as objects write it."""
        now = self.clock.now()
        second = int(now)
        if second != self._second:
            self._second, self._timestamp = second, timestamps.render(now)
        return self._timestamp

    # -- writing -----------------------------------------------------------------------------------------------------

    def create(self, obj: T, document: Document | None = None) -> T:
        """Stores a new object, completed with name, namespace, uid, version and time; raises `AlreadyExists`.

        `document`, here and below, is the whole JSON of which `obj` is the struct; what is completed is so in both.
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
                # Anew: the namespace took the version of which the uid was made, and labels may tell the uid.
                anew = stamped(obj, name, namespace, self._version + 1, self.timestamp())
                stored = self._admission(anew, None, self)
        objects[place] = stored
        whole = None if self._documents is None else self._kept_document(place, obj, stored, document)
        self._record(kind, ADDED, None, stored, whole)
        return stored

    def update(self, obj: T, document: Document | None = None) -> T:
        """Writes everything but the status. With a resource version, only onto that version; raises `Conflict`.

        A `document` is to hold the status that is stored already.
        """
        old = self._current(obj)
        if hasattr(old, "status"):
            obj = _replace(obj, status=old.status)
        return self._written(old, self._admitted(old, obj), obj, document)

    def update_status(self, obj: T, document: Document | None = None) -> T:
        """Writes the status and nothing else; a `document` is to hold everything else as it is stored."""
        old = self._current(obj)
        new = _replace(old, status=getattr(obj, "status", None))
        return self._written(old, new, new, document)

    def replace(self, obj: T, document: Document | None = None) -> T:
        """Writes spec and status at once, which no client of an API server could; for those who play all parts."""
        old = self._current(obj)
        return self._written(old, self._admitted(old, obj), obj, document)

    def delete(self, kind: type[T], key: str, uid: str = "", *, finalizers: tuple[str, ...] | None = None) -> T:
        """Removes the object, or marks it as being deleted while finalizers hold it up, and gives it back as it was last.

        `finalizers`, unless None, take the place of the object's own. Raises `Conflict` when it has another uid. What clients
        of an API server may say about a deletion is the business of `deletion`.
        """
        old = self.get(kind, key)
        check_uid(old, uid)
        final = old if finalizers is None else _replace(old, metadata=_replace(old.metadata, finalizers=finalizers))
        if is_held_up(final, self.awaited_finalizers):
            marked = marked_as_deleting(final, self.clock.now())
            return old if marked == old else self.rewrite(old, marked)
        return self._remove(old)

    def rewrite(self, old: T, new: T, document: Document | None = None) -> T:
        """The write under all updates: `new`, as it is, takes the place of the stored `old`, as the next version.

        Without a `document` the stored one is changed as `new` differs from `old`.
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
        """Fills an empty store with what another one held: its version, its objects, and its latest writes. Nobody is told."""
        assert self._documents is not None, "what is restored are documents"
        assert self._version == FIRST_VERSION, "only an empty store is filled"
        for obj, document in objects:
            self._of_kind(type(obj))[key(obj)] = obj
            self._documents.setdefault(type(obj), {})[key(obj)] = document
        self._version = version
        self._history.restore(version, commits)

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Has what is created or updated in the block be read there as if it were stored, and puts it back at the end; nobody
        hears of it. The block may not wait."""
        self._undo = []
        try:
            yield
        finally:
            undo, self._undo = self._undo, None
            for old, new, document in reversed(undo):
                self._put_back(old, new, document)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _put_back(self, old: Object | None, new: Object | None, document: Document | None) -> None:
        """Undoes a write that was not recorded: of `new` in the place of `old`."""
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
        """Keeps the document of which `seen` is the struct, completed as `stored` is."""
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
        """The stored object that `obj` is to replace, if it is the one that the writer has seen."""
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
        """Stores `new` unless it says nothing new; what only the server may set stays as it is.

        `document` is that of `seen`, which became `new` by admission.
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
        """Whether nothing but the finalizers that `new` no longer has kept the object from going."""
        awaited, period = self.awaited_finalizers, old.metadata.deletion_grace_period_seconds
        return not period and is_held_up(old, awaited) and not is_held_up(new, awaited)

    def _parsed(self, version: str, kind: type[Object]) -> int:
        if not version.isdecimal() or len(version) > _LONGEST_VERSION:
            raise Invalid(kind, "", f'{NOT_A_VERSION}: "{version}"')
        return int(version)


def check_uid(obj: Object, uid: str) -> None:
    """Raises `Conflict` unless `uid` is empty or the object's."""
    if uid and uid != obj.metadata.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {obj.metadata.uid}"
        raise Conflict(type(obj), key(obj), why)


def _spec(obj: Object) -> object:
    return getattr(obj, "spec", None)
