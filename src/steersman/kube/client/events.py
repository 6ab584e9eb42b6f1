# SPDX-License-Identifier: Apache-2.0
"""Events about pods, written to events.k8s.io/v1 in the background. The dispatcher reports,
`EventRecorder` writes.

Equal events are aggregated as in client-go (`EventSeriesBook`): the first is written, the second
turns it into a series, further ones are counted. The count is written when the series has ended,
and periodically so that the server does not expire it. Only the latest single events are
remembered; an older one that recurs is written as new.

Events are best effort: when too many are queued, or one for too long, they are dropped and counted.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections import OrderedDict, deque
from functools import partial
from typing import ClassVar, Final

import msgspec

from steersman import api
from steersman.api import Int32, Object, ObjectReference, Struct, codec, timestamps
from steersman.base import InternalErrors, SteersmanError, Timing
from steersman.kube.client import paths
from steersman.kube.client.errors import ApiError, ClientError
from steersman.kube.client.failure_log import WRITING_EVENTS, DroppedEvents, FailureLog
from steersman.kube.client.pacing import RetryPolicy, retrying
from steersman.kube.client.requests import STRATEGIC_MERGE_PATCH, NowaitChain, Request, Response, Transport
from steersman.scheduler.host import SCHEDULED, PodEvent

logger = logging.getLogger(__name__)

FINISHED_SECONDS: Final = 360.0
REFRESH_SECONDS: Final = 1800.0
MAX_SINGLE: Final = 4096
"""Limit of remembered single events, as in client-go's old event recorder."""
MAX_SERIES: Final = 2048
"""Limit of series. The oldest is written with its count when a new one exceeds it."""
_ONCE: Final = frozenset({SCHEDULED})
"""Reasons of events that a pod has once in its life, so that they never become a series."""
QUEUE_LENGTH: Final = 4096
QUEUE_LENGTHS: Final = (4 * QUEUE_LENGTH, QUEUE_LENGTH)
"""Limits of queued events by rank; the limit for bound pods is higher."""
MAX_QUEUED_SECONDS: Final = 300.0
"""Events that were due for longer are dropped, so that a server that was unavailable does not get a
backlog of old events."""
WORKERS: Final = 6
"""Concurrent events. Each costs a busy API server as much as a binding. While many bindings are in
flight, responses are read every 20 ms (`read_pacing`), so that 250 events are written in the time
of 1,000 bindings; with eight workers 350, and a fifth fewer pods are bound per second."""
DRAINING_WORKERS: Final = 42
"""Additional concurrent events when the process ends."""
BEHIND_BINDINGS_SECONDS: Final = 0.05
"""Minimum delay of an event, so that the bindings of a burst are sent first."""
TOGETHER_SECONDS: Final = 0.05
"""Events are due at multiples of this, to coalesce requests and responses."""
SETTLE_SECONDS: Final = 60.0
MAX_NOTE_LENGTH: Final = 1024
MAX_NAME_LENGTH: Final = 253
MAX_INSTANCE_LENGTH: Final = 128
CUT: Final = " ..."
PATIENT: Final = RetryPolicy(attempts=12, deadline=120.0)
"""The retries outlast a restart of the server."""

_Key = tuple[str, str, str, str, str, str, str, str, str, ObjectReference | None]
"""The key of an event; events with equal keys are aggregated."""


class EventSeries(Struct, frozen=True):
    """The count of an event, and its last time."""

    count: Int32 = 0
    last_observed_time: str | None = None


class Event(Object, frozen=True):
    """An event about `regarding`; one with a series occurred more than once."""

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


def event_object(reported: PodEvent, regarding: ObjectReference, name: str, instance: str, now: float) -> Event:
    """Return the object of an event about `regarding`, the pod. A long note is truncated."""
    related = reported.related
    return Event(
        metadata=api.ObjectMeta(name=name, namespace=regarding.namespace or api.DEFAULT_NAMESPACE),
        event_time=timestamps.render_micro(now),
        reporting_controller=reported.scheduler,
        reporting_instance=instance,
        action=reported.action,
        reason=reported.reason,
        regarding=regarding,
        related=None if related is None else api.reference_to(related),
        note=truncated(reported.note),
        type=reported.type,
    )


# -- series ------------------------------------------------------------------------------------------------------------


class _Single(msgspec.Struct, gc=False):
    """A single event: the fields that a series needs if it recurs."""

    name: str
    event_time: str | None
    #: Monotonic seconds.
    seen: float


class _Series(msgspec.Struct):
    """An event that occurred more than once."""

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
    """Aggregates the events of the last minutes."""

    def __init__(self) -> None:
        #: Single events and series, oldest first.
        self._single: OrderedDict[_Key, _Single] = OrderedDict()
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        #: Series that exceeded the limit, with their final counts.
        self._pushed_out: deque[Event] = deque(maxlen=QUEUE_LENGTH)

    def __len__(self) -> int:
        return len(self._single) + len(self._series)

    def observe(self, event: Event, monotonic: float) -> Event | None:
        """Record an event and return the event to write, if any."""
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
        """Remove ended series and return them, with the current counts that are due."""
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
        if len(self._single) > MAX_SINGLE:
            self._single.popitem(last=False)

    def _begin_series(self, key: _Key, first: _Single, event: Event, monotonic: float) -> Event:
        metadata = msgspec.structs.replace(event.metadata, name=first.name)
        original = msgspec.structs.replace(event, metadata=metadata, event_time=first.event_time)
        series = self._series[key] = _Series(original, 1, monotonic, monotonic)
        series.add(event, monotonic)
        if len(self._series) > MAX_SERIES:
            _, oldest = self._series.popitem(last=False)
            self._pushed_out.append(oldest.event)
        return series.event


def _key(event: Event) -> _Key:
    """Return the key of an event: strings, whose hashes are cached."""
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
    """Writes events in the background. `instance` is the host name."""

    def __init__(
        self,
        transport: Transport,
        timing: Timing,
        instance: str,
        policy: RetryPolicy | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        """Use `request_nowait` of the transport if it is a `NowaitChain`."""
        self._internal_errors = internal_errors or InternalErrors()
        self._transport = transport
        self._failure_log = failure_log or FailureLog(timing.clock)
        self._nowait = transport.request_nowait if isinstance(transport, NowaitChain) else None
        self._timing = timing
        self._instance = instance
        self._policy = policy or PATIENT
        #: Rank (0 for a bound pod), monotonic due time, number, event.
        self._queue: asyncio.PriorityQueue[tuple[int, float, int, Event]] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._is_draining = False
        self._series = EventSeriesBook()
        self._last_number = 0
        #: Number of events that were not written.
        self.dropped = 0
        self._refused = DroppedEvents()
        self._is_closed = False

    def record(self, reported: PodEvent) -> None:
        """Queue an event. A long note is truncated."""
        now = self._timing.clock.now()
        name = self._name(reported.pod.metadata.name, now)
        instance = f"{reported.scheduler}-{self._instance}"[:MAX_INSTANCE_LENGTH]
        event = event_object(reported, api.reference_to(reported.pod), name, instance, now)
        due = self._series.observe(event, self._timing.clock.monotonic())
        if due is not None:
            self._put(due)

    async def run(self) -> None:
        """Write queued events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())
            group.create_task(self._settle())
            group.create_task(self._refused.run(self._timing))

    def close(self) -> None:
        """Drop queued events, and everything recorded later."""
        self._is_closed = True
        while not self._queue.empty():
            self._queue.get_nowait()
            self._queue.task_done()
            self.dropped += 1

    async def drain(self) -> None:
        """Write or drop all events, with additional workers, as no bindings compete."""
        self._is_draining = True
        async with asyncio.TaskGroup() as group:
            more = [group.create_task(self._work()) for _ in range(DRAINING_WORKERS)]
            await self._queue.join()
            for task in more:
                task.cancel()

    # -- internals ---------------------------------------------------------------------------------------------------

    def _put(self, event: Event) -> None:
        rank = 0 if event.reason in _ONCE else 1
        if self._is_closed or self._queue.qsize() >= QUEUE_LENGTHS[rank]:
            self._drop(event, "too many wait")
            return
        earliest = self._timing.clock.monotonic() + BEHIND_BINDINGS_SECONDS
        due = math.ceil(earliest / TOGETHER_SECONDS) * TOGETHER_SECONDS
        self._queue.put_nowait((rank, due, next(self._numbers), event))

    def _drop(self, event: Event, why: str) -> None:
        self.dropped += 1
        logger.debug("an event about %s is dropped: %s", event.regarding.name, why)

    def _name(self, pod: str, now: float) -> str:
        """Return a unique name from the time, incremented if the clock has not advanced."""
        self._last_number = max(self._last_number + 1, int(now * 1e9))
        number = f".{self._last_number:x}"
        return pod[: MAX_NAME_LENGTH - len(number)] + number

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
            _, due, _, event = await self._queue.get()
            try:
                early = due - self._timing.clock.monotonic()
                if early < -MAX_QUEUED_SECONDS:
                    self._drop(event, "it waited for too long")
                    continue
                if early > 0.0 and not self._is_draining:
                    await self._timing.sleep(early)
                await self._write(event)
                self._failure_log.succeeded(WRITING_EVENTS)
            except SteersmanError as failure:
                self.dropped += 1
                if not self._failure_log.failed(WRITING_EVENTS, failure):
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
        path = paths.collection(Event, event.metadata.namespace)
        request = Request("POST", path, body=codec.encode(event), timeout=self._policy.attempt_seconds)
        outcome = await self._sent_nowait(request)
        if not isinstance(outcome, Response):
            await self._send(request, outcome)

    async def _sent_nowait(self, request: Request) -> Response | ClientError | None:
        """Return the outcome of a first attempt; None if impossible, or refused with 401."""
        if self._nowait is None:
            return None
        ended: asyncio.Future[Response | ClientError] = asyncio.get_running_loop().create_future()
        if not self._nowait(request, partial(_settle, ended)):
            return None
        outcome = await ended
        return None if isinstance(outcome, ApiError) and outcome.is_unauthorised else outcome

    async def _patch(self, event: Event) -> None:
        body = msgspec.json.encode({"series": event.series})
        await self._send(Request("PATCH", paths.object_path(event), body=body, content_type=STRATEGIC_MERGE_PATCH))

    async def _send(self, request: Request, failed: ClientError | None = None) -> None:
        """Send with retries. `failed` is the failure of a first attempt."""
        first = [] if failed is None else [failed]

        async def call(left: float) -> None:
            if first:
                raise first.pop()
            await self._transport.request(msgspec.structs.replace(request, timeout=left))

        # Events are named, so that a retry cannot create a second one.
        await retrying(call, self._timing, self._policy, idempotent=True)


def _settle(ended: asyncio.Future[Response | ClientError], outcome: Response | ClientError) -> None:
    if not ended.done():
        ended.set_result(outcome)


def truncated(note: str) -> str:
    """Return the note, truncated to the limit of the server in bytes."""
    data = note.encode()
    if len(data) <= MAX_NOTE_LENGTH:
        return note
    return data[: MAX_NOTE_LENGTH - len(CUT)].decode("utf-8", "ignore") + CUT
