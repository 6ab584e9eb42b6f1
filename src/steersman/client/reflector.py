# SPDX-License-Identifier: Apache-2.0
"""The objects of an API server, kept equal to what it has: a `Reflector` per kind, and `Informers` that runs all of them.

    list ─► replace ─► watch ─► changed, deleted ─► sink (`ingest`)
      ▲                  └─ cut: watch again from the last version
      └──── 410 Gone, errors of the server ──┘

A reflector never gives up: what goes wrong is logged, remembered, and tried again after a pause. An object that cannot be used,
because it cannot be read or because the sink fails, is `set_aside`, and its last good version stays.

All reflectors feed one sink. That of pods comes last: pods are followed when everything they depend on is known. Scheduling
starts after `Informers.wait_synced`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any, Final, Generic, TypeVar

from steersman import api
from steersman.client.errors import ApiError, ConnectionFailed, UnreadableLine
from steersman.client.failure_log import FailureLog
from steersman.client.list_watch import (
    BOOKMARK,
    DELETED,
    UNREADABLE_AT_ONCE,
    Listing,
    ListWatch,
    ObjectTexts,
    RawObjects,
    WatchedChange,
)
from steersman.client.pacing import Backoff, Pauses, Timing
from steersman.client.set_aside import SetAside, Unreadable, stand_in
from steersman.client.transport import Transport
from steersman.errors import SteersmanError
from steersman.framework.watching import WATCHED_KINDS, EventSink, event_resource, is_custom
from steersman.internal_errors import INTERNAL_ERROR, InternalErrors, describe
from steersman.waiting import ended_before

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

OPTIONAL_GROUPS: Final = frozenset({"resource.k8s.io"})
"""API groups that a server need not have. Without any other one, pods would be placed by half of the rules."""
INGEST: Final = "ingest"
"""Where a sink fails, for `InternalErrors`."""
ABSENT_SECONDS: Final = 60.0
"""After so long a missing API group is looked for again."""
ABSENT: Final = "the server does not know %s of %s: none are assumed, and it is asked again after about %g seconds"
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner, without a word, is a failure."""
UNNAMED_SERVER: Final = "the given address"
"""In the log of a reflector that was not told which server it follows."""
BREATH: Final = 512
"""After so many objects of a list others may run."""
UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have ended hold nothing; to a watcher they are gone."""
_SELECTORS: Final[dict[type[api.Object], str]] = {api.Pod: UNFINISHED}


# -- one kind ----------------------------------------------------------------------------------------------------------


def may_be_absent(kind: type[api.Object]) -> bool:
    """Whether the scheduler does without the kind where the server does not know its API group: the optional ones, and those
    of plugins, whose CustomResourceDefinition may come later."""
    return kind.API_VERSION.rpartition("/")[0] in OPTIONAL_GROUPS or is_custom(kind)


class Reflector(Generic[T]):
    """Follows the objects of one kind, and tells the sink."""

    def __init__(
        self,
        source: ListWatch[T],
        sink: EventSink,
        timing: Timing,
        pauses: Pauses | None = None,
        set_aside: SetAside | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        self._source = source
        self._failure_log = failure_log or FailureLog(timing.clock, UNNAMED_SERVER)
        #: With the group, of a custom kind: there may be others of its name.
        self._kind_name = event_resource(source.kind) if is_custom(source.kind) else source.kind.KIND
        self._set_aside = set_aside or SetAside(timing.clock)
        self._internal_errors = internal_errors or InternalErrors()
        self._sink = sink
        self._timing = timing
        self._backoff = Backoff(pauses or Pauses(), timing)
        self._synced = asyncio.Event()
        #: By key, what the sink works with: the last version that could be used.
        self.objects: dict[str, T] = {}
        #: Everything up to here is known.
        self.resource_version = ""
        #: How often the whole list was fetched.
        self.lists = 0
        #: What went wrong last, None while all is well.
        self.failure: SteersmanError | None = None
        #: When a watch last ended, or a list failed; monotonic seconds.
        self._interrupted = -math.inf
        #: Somebody wants a list that begins after he asked; and has it.
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
        """The sink has been told of everything that was there at the start."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def was_interrupted(self, seconds: float) -> bool:
        """Whether following broke off within the last seconds: what happened since then may not be known yet."""
        return self._timing.clock.monotonic() - self._interrupted < seconds

    async def renew(self) -> None:
        """Lists anew; returns when the sink has been told of everything that was there when this was called."""
        self._renewed.clear()
        self._renewal.set()
        await self._renewed.wait()

    async def run(self) -> None:
        """Lists and watches until it is cancelled."""
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
            level = logging.WARNING if is_custom(self.kind) else logging.INFO
            logger.log(level, ABSENT, self.kind.PLURAL, self.kind.API_VERSION, ABSENT_SECONDS)
        self._synced.set()
        self._end_renewal()
        await self._timing.sleep(self._timing.jittered(ABSENT_SECONDS, 0.5))

    async def _replace(self, listing: Listing[T]) -> None:
        """Takes a list over: what it lacks is gone; what it has in the same version is known."""
        listed = {api.key(obj): obj for obj in listing.objects}
        unreadable = {one.identity.key: one for one in listing.unreadable}
        self._set_aside.keep_only(self._kind_name, listed.keys() | unreadable.keys())
        for count, one in enumerate(unreadable.values(), start=1):
            self._put_unreadable(one)
            if count % UNREADABLE_AT_ONCE == 0:
                await asyncio.sleep(0)
        self._sink.expect(self.kind, len(listed))
        for count, (key, obj) in enumerate(listed.items(), start=1):
            self._put(key, obj)
            if count % BREATH == 0:
                await asyncio.sleep(0)
        # Last: room that pods have left is not given away before those are known that took it.
        for key in [key for key in self.objects if key not in listed and key not in unreadable]:
            self._remove(key)
        self.resource_version = listing.resource_version

    # -- watching ----------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Watches, again and again, until a new list is due."""
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
                if self._was_of_use(began, version):
                    logger.info("%s: %s", self._what, failure)
                else:
                    await self._failed(failure)
            except SteersmanError as failure:
                await self._failed(failure)
            else:
                self._interrupted = self._timing.clock.monotonic()
                if not self._was_of_use(began, version):
                    await self._backoff.pause()

    def _was_of_use(self, began: float, version: str) -> bool:
        """Whether a watch that has ended, or was cut, brought something or lasted a while: then the next one need not wait."""
        return version != self.resource_version or self._timing.clock.monotonic() - began >= SHORT_SECONDS

    async def _watch(self) -> None:
        async with aclosing(self._source.watch(self.resource_version)) as changes:
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

    # -- telling the sink --------------------------------------------------------------------------------------------

    def _put(self, key: str, obj: T) -> None:
        known = self.objects.get(key)
        if known is not None and known.metadata.resource_version == obj.metadata.resource_version:
            return
        refused = self._tell(key, obj)
        if refused is None:
            self._set_aside.discard(self._kind_name, key)
        else:
            self._put_unreadable(refused)

    def _put_unreadable(self, unreadable: Unreadable) -> None:
        """The last good version stays, or what else can stand in; unless the object is a new one of the same name."""
        kind, identity = self.kind, unreadable.identity
        last_good = self.objects.get(identity.key)
        if last_good is not None and identity.uid and identity.uid != last_good.metadata.uid:
            self._remove(identity.key)
            last_good = None
        other = stand_in(unreadable, kind, last_good)
        if other is not None and other is not last_good:
            self._tell(identity.key, other)
        self._set_aside.put(self._kind_name, identity, unreadable.reason, is_in_use=identity.key in self.objects)

    def _remove(self, key: str, last: T | None = None) -> None:
        """The object, of which `last` is the last version, is gone; the sink is told if it knows of it."""
        known = self.objects.pop(key, None)
        self._set_aside.discard(self._kind_name, key)
        if known is None:
            return
        try:
            self._sink.deleted(last or known)
        except Exception as error:
            self._internal_errors.survived(INGEST, f"the deletion of {self.kind.KIND} {key}", error)

    def _tell(self, key: str, obj: T) -> Unreadable | None:
        """Tells the sink of an object; None: it uses it."""
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
        #: Objects of any kind that cannot be used.
        self.set_aside = SetAside(timing.clock)
        sources = (ListWatch(transport, kind, timing, _SELECTORS.get(kind, ""), raw_objects, texts) for kind in kinds)
        self.reflectors: Sequence[Reflector[Any]] = [
            Reflector(
                source,
                sink,
                timing,
                set_aside=self.set_aside,
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
        """Returns when the sink knows all that was there at the start."""
        await self._synced.wait()

    async def catch_up(self, seconds: float) -> None:
        """Returns when the sink knows all that was there before this was called, as far as following broke off within the last
        seconds. A watch that goes on is never far behind; one that is being opened again may be."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                if reflector.was_interrupted(seconds):
                    group.create_task(reflector.renew(), name=f"catch up with {reflector.kind.PLURAL}")

    def objects(self) -> list[api.Object]:
        """Everything that the sink works with."""
        return [obj for reflector in self.reflectors for obj in reflector.objects.values()]

    def not_synced(self) -> list[Reflector[Any]]:
        """The reflectors that everybody waits for; each says what went wrong."""
        return [reflector for reflector in self.reflectors if not reflector.has_synced]

    async def run(self) -> None:
        """Follows all kinds until it is cancelled."""
        last = [reflector for reflector in self.reflectors if reflector.kind is api.Pod]
        first = [reflector for reflector in self.reflectors if reflector.kind is not api.Pod]
        async with asyncio.TaskGroup() as group:
            for wave in (first, last):
                for reflector in wave:
                    group.create_task(reflector.run(), name=f"follow {reflector.kind.PLURAL}")
                for reflector in wave:
                    await reflector.wait_synced()
            self._synced.set()
