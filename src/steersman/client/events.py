# SPDX-License-Identifier: Apache-2.0
"""Events about pods, written to events.k8s.io/v1 in the background. The dispatcher reports, `EventRecorder` writes.

Equal events become one with a count, as client-go counts them (`EventSeriesBook`): the first of its kind is written, the
second turns it into a series, further ones are only counted here; the count is written when the series has ended, and now
and then so that the server does not forget a long one. Of events that came once, which most do, only the latest are
remembered: what comes again after them is written as if it were new.

Events are for people: when the server is slow they are dropped and counted, never waited for.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict, deque
from functools import partial
from typing import ClassVar, Final

import msgspec

from steersman import api
from steersman.api import Int32, Object, ObjectReference, Struct, codec, timestamps
from steersman.client import paths
from steersman.client.direct_posts import DirectPosts
from steersman.client.errors import ApiError, ClientError
from steersman.client.failure_log import DroppedEvents
from steersman.client.pacing import RetryPolicy, Timing, retrying
from steersman.client.transport import JSON, STRATEGIC_MERGE_PATCH, Response, Transport
from steersman.errors import SteersmanError
from steersman.internal_errors import InternalErrors

logger = logging.getLogger(__name__)

FINISHED_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
MOST_SINGLE: Final = 4096
"""Events that came once, as many as client-go remembers of events of the old kind."""
MOST_SERIES: Final = 2048
"""Events that came more than once. One that makes way for the next is written with its count."""
_ONCE: Final = frozenset({"Scheduled"})
"""Reasons of events that a pod has once in its life: there is no series to be expected, and nothing to be remembered."""
NORMAL: Final = "Normal"
WARNING: Final = "Warning"
QUEUE_LENGTH: Final = 4096
WORKERS: Final = 6
"""Events under way at once. Each takes as much of a busy API server as a binding, of which many are under way. While these are,
answers are read every 20 ms (`read_pacing`), so that some 250 events are written in the time of 1,000 bindings; with eight,
350, and a fifth fewer pods were bound per second."""
BEHIND_BINDINGS_SECONDS: Final = 0.05
"""So long an event waits at least before it is written: the bindings of a burst go first. Writing an event costs us and the
server as much as a binding does, and nobody waits for it."""
TOGETHER_SECONDS: Final = 0.05
"""Events are due at multiples of this: those of the same moment share a packet and, mostly, their answers do."""
SETTLE_SECONDS: Final = 60.0
LONGEST_NOTE: Final = 1024
LONGEST_NAME: Final = 253
LONGEST_INSTANCE: Final = 128
CUT: Final = " ..."
PATIENT: Final = RetryPolicy(attempts=12, deadline=120.0)
"""A restart of the server loses no event; meanwhile the others wait in the queue."""
_DEFAULT_NAMESPACE: Final = "default"

_Key = tuple[str, str, str, str, str, str, str, str, str, ObjectReference | None]
"""Two events with one key are equal."""


class EventSeries(Struct, frozen=True):
    """How often an event came, and when last."""

    count: Int32 = 0
    last_observed_time: str | None = None


class Event(Object, frozen=True):
    """Something that happened to `regarding`; with a series, more than once."""

    KIND: ClassVar[str] = "Event"
    API_VERSION: ClassVar[str] = "events.k8s.io/v1"
    PLURAL: ClassVar[str] = "events"

    event_time: str | None = None
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""


# -- series ------------------------------------------------------------------------------------------------------------


class _Single(msgspec.Struct, gc=False):
    """An event that came once: the fields that make it the first of a series when it comes again."""

    name: str
    event_time: str | None
    #: Monotonic seconds.
    seen: float


class _Series(msgspec.Struct):
    """An event that came more than once."""

    event: Event
    count: int
    #: Monotonic seconds: when the last one was seen, and when the event was last written.
    last: float
    written: float

    def add(self, event: Event, monotonic: float) -> None:
        self.count += 1
        self.last = monotonic
        series = EventSeries(count=self.count, last_observed_time=event.event_time)
        self.event = msgspec.structs.replace(self.event, series=series)


class EventSeriesBook:
    """The events of the last minutes."""

    def __init__(self) -> None:
        #: What came once, and what came again; oldest first.
        self._single: OrderedDict[_Key, _Single] = OrderedDict()
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        #: What made way for younger series, and has its final count.
        self._pushed_out: deque[Event] = deque(maxlen=QUEUE_LENGTH)

    def __len__(self) -> int:
        return len(self._single) + len(self._series)

    def observe(self, event: Event, monotonic: float) -> Event | None:
        """The event that is to be written because of this one; None: nothing."""
        if event.reason in _ONCE:
            return event
        key = _key(event)
        series = self._series.get(key)
        if series is not None:
            series.add(event, monotonic)
            return None
        first = self._single.pop(key, None)
        if first is None:
            self._remember(key, _Single(event.metadata.name, event.event_time, monotonic))
            return event
        return self._begin_series(key, first, event, monotonic)

    def settle(self, monotonic: float) -> list[Event]:
        """Final counts of series that have ended, which are forgotten, and present ones of series that last."""
        while self._single and monotonic - next(iter(self._single.values())).seen >= FINISHED_SECONDS:
            self._single.popitem(last=False)
        due = list(self._pushed_out)
        self._pushed_out.clear()
        for key, series in list(self._series.items()):
            ended = monotonic - series.last >= FINISHED_SECONDS
            if ended:
                del self._series[key]
            if ended or monotonic - series.written >= REFRESH_SECONDS:
                series.written = monotonic
                due.append(series.event)
        return due

    def _remember(self, key: _Key, single: _Single) -> None:
        self._single[key] = single
        if len(self._single) > MOST_SINGLE:
            self._single.popitem(last=False)

    def _begin_series(self, key: _Key, first: _Single, event: Event, monotonic: float) -> Event:
        metadata = msgspec.structs.replace(event.metadata, name=first.name)
        original = msgspec.structs.replace(event, metadata=metadata, event_time=first.event_time)
        series = self._series[key] = _Series(original, 1, monotonic, monotonic)
        series.add(event, monotonic)
        if len(self._series) > MOST_SERIES:
            _, oldest = self._series.popitem(last=False)
            self._pushed_out.append(oldest.event)
        return series.event


def _key(event: Event) -> _Key:
    """Strings, which know their hashes: this is asked for every event."""
    regarding = event.regarding
    return (
        event.type,
        event.action,
        event.reason,
        event.reporting_controller,
        regarding.kind,
        regarding.namespace,
        regarding.name,
        regarding.uid,
        regarding.resource_version,
        event.related,
    )


# -- recording ---------------------------------------------------------------------------------------------------------


class EventRecorder:
    """`instance` is the name of this machine."""

    def __init__(
        self,
        transport: Transport,
        timing: Timing,
        instance: str,
        policy: RetryPolicy | None = None,
        internal_errors: InternalErrors | None = None,
        posts: DirectPosts | None = None,
    ) -> None:
        """`posts` is the short way to where `transport` goes; None: there is none."""
        self._internal_errors = internal_errors or InternalErrors()
        self._transport = transport
        self._posts = posts
        self._timing = timing
        self._instance = instance
        self._policy = policy or PATIENT
        #: Each with the monotonic time at which it is to be written.
        self._queue: asyncio.Queue[tuple[float, Event]] = asyncio.Queue(QUEUE_LENGTH)
        self._series = EventSeriesBook()
        self._last_number = 0
        #: Events that nobody will ever read.
        self.dropped = 0
        self._refused = DroppedEvents()
        self._is_closed = False

    def record(
        self,
        regarding: api.Pod,
        *,
        controller: str,
        type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """`controller` is the scheduler's name, `note` the text; a long one is cut."""
        now = self._timing.clock.now()
        meta = regarding.metadata
        event = Event(
            metadata=api.ObjectMeta(name=self._name(meta.name, now), namespace=meta.namespace or _DEFAULT_NAMESPACE),
            event_time=timestamps.render_micro(now),
            reporting_controller=controller,
            reporting_instance=f"{controller}-{self._instance}"[:LONGEST_INSTANCE],
            action=action,
            reason=reason,
            regarding=_reference(regarding),
            note=truncated(note),
            type=type,
        )
        due = self._series.observe(event, self._timing.clock.monotonic())
        if due is not None:
            self._put(due)

    async def run(self) -> None:
        """Writes what is recorded, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())
            group.create_task(self._settle())
            group.create_task(self._refused.run(self._timing))

    def close(self) -> None:
        """Drops what waits and whatever is recorded from now on."""
        self._is_closed = True
        while not self._queue.empty():
            self._queue.get_nowait()
            self._queue.task_done()
            self.dropped += 1

    async def drain(self) -> None:
        """Returns when everything that was recorded has been written or dropped."""
        await self._queue.join()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _put(self, event: Event) -> None:
        if self._is_closed:
            self.dropped += 1
            return
        try:
            earliest = self._timing.clock.monotonic() + BEHIND_BINDINGS_SECONDS
            self._queue.put_nowait((math.ceil(earliest / TOGETHER_SECONDS) * TOGETHER_SECONDS, event))
        except asyncio.QueueFull:
            self.dropped += 1
            logger.debug("an event about %s is dropped: too many wait", event.regarding.name)

    def _name(self, pod: str, now: float) -> str:
        """Unique: the time in nanoseconds, moved on where the clock stands still."""
        self._last_number = max(self._last_number + 1, int(now * 1e9))
        number = f".{self._last_number:x}"
        return pod[: LONGEST_NAME - len(number)] + number

    async def _settle(self) -> None:
        while True:
            await self._timing.sleep(SETTLE_SECONDS)
            try:
                for event in self._series.settle(self._timing.clock.monotonic()):
                    self._put(event)
            except Exception as error:
                self._internal_errors.survived("event", "series of events", error)

    async def _work(self) -> None:
        while True:
            due, event = await self._queue.get()
            try:
                if (early := due - self._timing.clock.monotonic()) > 0.0:
                    await self._timing.sleep(early)
                await self._write(event)
            except SteersmanError as failure:
                self.dropped += 1
                self._refused.add(event.metadata.namespace, event.regarding.name, failure)
            except Exception as error:
                self.dropped += 1
                self._internal_errors.survived("event", f"Pod {event.regarding.name}", error)
            finally:
                self._queue.task_done()

    async def _write(self, event: Event) -> None:
        if event.series is not None:
            try:
                return await self._patch(event)
            except ApiError as refusal:
                if not refusal.is_not_found:
                    raise
        try:
            return await self._create(event)
        except ClientError as failure:
            if isinstance(failure, ApiError) and failure.already_exists:
                return None  # the answer to the first attempt was lost
            raise

    async def _create(self, event: Event) -> None:
        path, body = paths.collection(Event, event.metadata.namespace), codec.encode(event)
        outcome = await self._posted(path, body)
        if not isinstance(outcome, Response):
            await self._send("POST", path, body, JSON, outcome)

    async def _posted(self, path: str, body: bytes) -> Response | ClientError | None:
        """The outcome of an event written the short way; None: that is not possible now, or not with these credentials."""
        if self._posts is None:
            return None
        ended: asyncio.Future[Response | ClientError] = asyncio.get_running_loop().create_future()
        if not self._posts.begin(path, body, self._policy.attempt_seconds, partial(_settle, ended)):
            return None
        outcome = await ended
        return None if isinstance(outcome, ApiError) and outcome.is_unauthorised else outcome

    async def _patch(self, event: Event) -> None:
        body = msgspec.json.encode({"series": event.series})
        await self._send("PATCH", paths.of(event), body, STRATEGIC_MERGE_PATCH)

    async def _send(
        self, method: str, path: str, body: bytes, content_type: str, failed: ClientError | None = None
    ) -> None:
        """`failed`: so ended a first attempt, which was made already."""
        first = [] if failed is None else [failed]

        async def call(left: float) -> None:
            if first:
                raise first.pop()
            await self._transport.request(method, path, body=body, content_type=content_type, timeout=left)

        # An event has a name, so that a second attempt cannot make two of it.
        await retrying(call, self._timing, self._policy, idempotent=True)


def _settle(ended: asyncio.Future[Response | ClientError], outcome: Response | ClientError) -> None:
    if not ended.done():
        ended.set_result(outcome)


def truncated(note: str) -> str:
    """The note, cut to as many bytes as the server accepts."""
    data = note.encode()
    if len(data) <= LONGEST_NOTE:
        return note
    return data[: LONGEST_NOTE - len(CUT)].decode("utf-8", "ignore") + CUT


def _reference(pod: api.Pod) -> api.ObjectReference:
    meta = pod.metadata
    return api.ObjectReference(
        kind=pod.KIND,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version=pod.API_VERSION,
        resource_version=meta.resource_version,
    )
