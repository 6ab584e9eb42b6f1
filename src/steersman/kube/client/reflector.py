# SPDX-License-Identifier: Apache-2.0
"""Local copy of an API server's objects: a `Reflector` per kind, and `Informers` that run them all.

    list ─► replace ─► watch ─► changed, deleted ─► sink (`ingest`)
      ▲                  └─ cut: watch again from the last version
      └──── 410 Gone, errors of the server ──┘

A reflector never gives up: failures are logged, recorded, and retried with backoff. An object that
cannot be decoded or is refused by the sink is put into `invalid_objects`, and its last good version
stays.

All reflectors feed one sink. Pods come last, after everything they depend on. Scheduling starts
after `Informers.wait_synced`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic, TypeVar

from steersman import api
from steersman.base import INTERNAL_ERROR, InternalErrors, SteersmanError, Timing, describe, ended_before
from steersman.framework import WATCHED_KINDS, EventSink, event_resource, is_custom, is_of_plugin
from steersman.kube.client.errors import ApiError, ConnectionFailed, UnreadableLine
from steersman.kube.client.failure_log import FailureLog
from steersman.kube.client.invalid_objects import InvalidObjects, Unreadable, stand_in
from steersman.kube.client.list_watch import (
    BOOKMARK,
    DELETED,
    UNREADABLE_PER_TURN,
    Listing,
    ListWatch,
    ObjectTexts,
    RawObjects,
    WatchedChange,
)
from steersman.kube.client.pacing import Backoff, BackoffSettings
from steersman.kube.client.requests import Transport

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

OPTIONAL_GROUPS: Final = frozenset({"resource.k8s.io"})
"""Optional API groups. Without any other one, pods would be placed by incomplete rules."""
INGEST: Final = "ingest"
"""Component name of sink failures in `InternalErrors`."""
ABSENT_SECONDS: Final = 60.0
"""Interval at which a missing API group is tried again."""
ABSENT: Final = "the server does not know %s of %s: none are assumed, and the list is retried after about %g seconds"
SHORT_SECONDS: Final = 1.0
"""A watch that ends earlier without an event counts as a failure."""
UNNAMED_SERVER: Final = "the given address"
"""The name in the log of a server without a known address."""
OBJECTS_PER_TURN: Final = 512
"""Other tasks may run after this number of objects of a list."""
UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Finished pods use no resources; for the watch they are deleted."""
_SELECTORS: Final[dict[type[api.Object], str]] = {api.Pod: UNFINISHED}


# -- one kind ----------------------------------------------------------------------------------------------------------


def may_be_absent(kind: type[api.Object]) -> bool:
    """Return whether the scheduler works without the kind's API group: optional groups, and those
    of plugins, whose CustomResourceDefinition may be created later."""
    return kind.API_VERSION.rpartition("/")[0] in OPTIONAL_GROUPS or is_custom(kind)


class Reflector(Generic[T]):
    """Lists and watches the objects of one kind and passes changes to the sink."""

    def __init__(
        self,
        source: ListWatch[T],
        sink: EventSink,
        timing: Timing,
        pauses: BackoffSettings | None = None,
        invalid: InvalidObjects | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        self._source = source
        self._failure_log = failure_log or FailureLog(timing.clock, UNNAMED_SERVER)
        #: Includes the group of a custom kind, whose name may not be unique.
        self._kind_name = event_resource(source.kind) if is_custom(source.kind) else source.kind.KIND
        self._invalid = invalid or InvalidObjects(timing.clock)
        self._internal_errors = internal_errors or InternalErrors()
        self._sink = sink
        self._timing = timing
        self._backoff = Backoff(pauses or BackoffSettings(), timing)
        self._synced = asyncio.Event()
        #: Key → last usable version, which the sink has.
        self.objects: dict[str, T] = {}
        #: Version up to which all changes are known.
        self.resource_version = ""
        #: Number of lists.
        self.lists = 0
        #: The last failure; None while there is none.
        self.failure: SteersmanError | None = None
        #: Monotonic time at which a watch last ended or a list failed.
        self._interrupted = -math.inf
        #: Set when a relist is requested, and when it is done.
        self._renewal = asyncio.Event()
        self._renewed = asyncio.Event()

    @property
    def kind(self) -> type[T]:
        return self._source.kind

    @property
    def _what(self) -> str:
        return f"following {self.kind.PLURAL}"

    @property
    def has_synced(self) -> bool:
        """Whether the sink has received all objects of the first list."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def was_interrupted(self, seconds: float) -> bool:
        """Return whether the watch was interrupted within the last `seconds`."""
        return self._timing.clock.monotonic() - self._interrupted < seconds

    async def renew(self) -> None:
        """Relist, and return when the sink has received all objects that existed at the call."""
        self._renewed.clear()
        self._renewal.set()
        await self._renewed.wait()

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                if await self._listed():
                    await ended_before(self._renewal, self._follow())
            except Exception as error:
                self._internal_errors.survived("informer", self.kind.PLURAL, error)
                await self._backoff.pause()

    # -- listing -----------------------------------------------------------------------------------------------------

    async def _listed(self) -> bool:
        is_renewal = self._renewal.is_set()
        is_listed = await self._list()
        if is_listed and is_renewal:
            self._end_renewal()
        return is_listed

    def _end_renewal(self) -> None:
        self._renewal.clear()
        self._renewed.set()

    async def _list(self) -> bool:
        try:
            listing = await self._source.list()
        except ApiError as refusal:
            if refusal.is_not_found and may_be_absent(self.kind) and not self.objects:
                await self._absent()
            elif refusal.is_not_found:
                await self._failed(refusal, f"the server does not know {self.kind.API_VERSION}, which is waited for: ")
            else:
                await self._failed(refusal)
            return False
        except SteersmanError as failure:
            await self._failed(failure)
            return False
        self.lists += 1
        self._succeeded()
        await self._replace(listing)
        self._synced.set()
        return True

    async def _absent(self) -> None:
        if not self.has_synced:
            level = logging.WARNING if is_of_plugin(self.kind) else logging.INFO
            logger.log(level, ABSENT, self.kind.PLURAL, self.kind.API_VERSION, ABSENT_SECONDS)
        self._synced.set()
        self._end_renewal()
        await self._timing.sleep(self._timing.jittered(ABSENT_SECONDS, 0.5))

    async def _replace(self, listing: Listing[T]) -> None:
        """Apply a list: missing objects are deleted, unchanged ones skipped."""
        listed = {api.key(obj): obj for obj in listing.objects}
        unreadable = {one.identity.key: one for one in listing.unreadable}
        self._invalid.keep_only(self._kind_name, listed.keys() | unreadable.keys())
        for count, one in enumerate(unreadable.values(), start=1):
            self._put_unreadable(one)
            if count % UNREADABLE_PER_TURN == 0:
                await asyncio.sleep(0)
        self._sink.expect(self.kind, len(listed))
        for count, (key, obj) in enumerate(listed.items(), start=1):
            self._put(key, obj)
            if count % OBJECTS_PER_TURN == 0:
                await asyncio.sleep(0)
        # Last, so that resources of deleted pods are not reused before the pods that took them are
        # known.
        for key in [key for key in self.objects if key not in listed and key not in unreadable]:
            self._remove(key)
        self.resource_version = listing.resource_version

    # -- watching ----------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Watch repeatedly until a relist is due."""
        while True:
            began = self._timing.clock.monotonic()
            version = self.resource_version
            try:
                await self._watch()
            except ApiError as refusal:
                await self._failed(refusal)
                if not refusal.is_overload:
                    return
            except UnreadableLine as failure:
                await self._failed(failure)
                return
            except ConnectionFailed as failure:
                self._interrupted = self._timing.clock.monotonic()
                if self._made_progress(began, version):
                    logger.info("%s: %s", self._what, failure)
                else:
                    await self._failed(failure)
            except SteersmanError as failure:
                await self._failed(failure)
            else:
                self._interrupted = self._timing.clock.monotonic()
                if not self._made_progress(began, version):
                    await self._backoff.pause()

    def _made_progress(self, began: float, version: str) -> bool:
        """Return whether the ended watch had events or lasted long, so that no pause is due."""
        return version != self.resource_version or self._timing.clock.monotonic() - began >= SHORT_SECONDS

    async def _watch(self) -> None:
        async with aclosing(self._source.watch(self.resource_version, self.objects)) as changes:
            async for change in changes:
                if self.failure is not None:
                    self._succeeded()
                self._apply(change)

    def _apply(self, change: WatchedChange[T]) -> None:
        obj = change.object
        if isinstance(obj, Unreadable):
            self._apply_unreadable(change.type, obj)
            return
        if change.type == DELETED:
            self._remove(api.key(obj), obj)
        elif change.type != BOOKMARK:
            self._put(api.key(obj), obj)
        self.resource_version = obj.metadata.resource_version or self.resource_version

    def _apply_unreadable(self, change: str, unreadable: Unreadable) -> None:
        if change == DELETED:
            self._remove(unreadable.identity.key)
        elif change != BOOKMARK:
            self._put_unreadable(unreadable)
        self.resource_version = unreadable.identity.resource_version or self.resource_version

    # -- delivery to the sink ----------------------------------------------------------------------------------------

    def _put(self, key: str, obj: T) -> None:
        known = self.objects.get(key)
        if known is not None and known.metadata.resource_version == obj.metadata.resource_version:
            return
        refused = self._deliver(key, obj)
        if refused is None:
            self._invalid.discard(self._kind_name, key)
        else:
            self._put_unreadable(refused)

    def _put_unreadable(self, unreadable: Unreadable) -> None:
        """Use the last good version, or a stand-in, unless the object is a new one of that name."""
        kind, identity = self.kind, unreadable.identity
        last_good = self.objects.get(identity.key)
        if last_good is not None and identity.uid and identity.uid != last_good.metadata.uid:
            self._remove(identity.key)
            last_good = None
        other = stand_in(unreadable, kind, last_good)
        if other is not None and other is not last_good:
            self._deliver(identity.key, other)
        self._invalid.put(self._kind_name, identity, unreadable.reason, is_in_use=identity.key in self.objects)

    def _remove(self, key: str, last: T | None = None) -> None:
        """Handle the deletion of an object, `last` being its last version."""
        known = self.objects.pop(key, None)
        self._invalid.discard(self._kind_name, key)
        if known is None:
            return
        try:
            self._sink.deleted(last or known)
        except Exception as error:
            self._internal_errors.survived(INGEST, f"the deletion of {self.kind.KIND} {key}", error)

    def _deliver(self, key: str, obj: T) -> Unreadable | None:
        """Pass an object to the sink; return None if it is accepted."""
        try:
            self._sink.changed(obj)
        except SteersmanError as refusal:
            return Unreadable.from_object(obj, str(refusal), has_readable_part=True)
        except Exception as error:
            self._internal_errors.survived(INGEST, f"{self.kind.KIND} {key}", error)
            return Unreadable.from_object(obj, INTERNAL_ERROR.format(describe(error)), has_readable_part=False)
        self.objects[key] = obj
        return None

    def _succeeded(self) -> None:
        self.failure = None
        self._failure_log.succeeded(self._what)

    async def _failed(self, failure: SteersmanError, explanation: str = "") -> None:
        self.failure = failure
        self._interrupted = self._timing.clock.monotonic()
        if not self._failure_log.failed(self._what, failure):
            expired = isinstance(failure, ApiError) and failure.is_expired
            logger.log(logging.INFO if expired else logging.WARNING, "%s: %s%s", self._what, explanation, failure)
        await self._backoff.pause(failure.retry_after if isinstance(failure, ApiError) else None)


# -- all kinds ---------------------------------------------------------------------------------------------------------


class Informers:
    """The reflectors of all kinds."""

    def __init__(
        self,
        transport: Transport,
        sink: EventSink,
        timing: Timing,
        kinds: Iterable[type[api.Object]] = WATCHED_KINDS,
        raw_objects: RawObjects | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
        texts: ObjectTexts | None = None,
    ) -> None:
        failures = failure_log or FailureLog(timing.clock, UNNAMED_SERVER)
        #: Unusable objects of any kind.
        self.invalid_objects = InvalidObjects(timing.clock)
        sources = (ListWatch(transport, kind, timing, _SELECTORS.get(kind, ""), raw_objects, texts) for kind in kinds)
        self.reflectors: Sequence[Reflector[Any]] = [
            Reflector(
                source,
                sink,
                timing,
                invalid=self.invalid_objects,
                internal_errors=internal_errors,
                failure_log=failures,
            )
            for source in sources
        ]
        self._synced = asyncio.Event()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Return when the sink has all initial objects."""
        await self._synced.wait()

    async def catch_up(self, seconds: float) -> None:
        """Return when the sink has all objects that existed at the call, relisting kinds whose
        watch was interrupted within the last seconds. Other watches are never far behind."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                if reflector.was_interrupted(seconds):
                    group.create_task(reflector.renew(), name=f"catch up with {reflector.kind.PLURAL}")

    def objects(self) -> list[api.Object]:
        """Return all objects that the sink has."""
        return [obj for reflector in self.reflectors for obj in reflector.objects.values()]

    def not_synced(self) -> list[Reflector[Any]]:
        """Return the reflectors that have not synced, with their failures."""
        return [reflector for reflector in self.reflectors if not reflector.has_synced]

    async def run(self) -> None:
        """Follow all kinds until cancelled."""
        last = [reflector for reflector in self.reflectors if reflector.kind is api.Pod]
        first = [reflector for reflector in self.reflectors if reflector.kind is not api.Pod]
        async with asyncio.TaskGroup() as group:
            for wave in (first, last):
                for reflector in wave:
                    group.create_task(reflector.run(), name=f"follow {reflector.kind.PLURAL}")
                for reflector in wave:
                    await reflector.wait_synced()
            self._synced.set()
