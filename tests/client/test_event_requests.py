# SPDX-License-Identifier: Apache-2.0
"""Events: written, counted, dropped rather than waited for."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator

import pytest
from tests.client.api_server import ApiServer
from tests.client.dispatching import dispatching, events
from tests.client.following import IMPATIENT, running, until
from tests.client.serving import run

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.framework import Failure
from steersman.framework.pod_info import PodShapes
from steersman.kube.client.connection import Connection
from steersman.kube.client.events import (
    BEHIND_BINDINGS_SECONDS,
    FINISHED_SECONDS,
    MAX_QUEUED_SECONDS,
    MAX_SERIES,
    MAX_SINGLE,
    QUEUE_LENGTH,
    REFRESH_SECONDS,
    SETTLE_SECONDS,
    TOGETHER_SECONDS,
    Event,
    EventRecorder,
    EventSeries,
    EventSeriesBook,
    truncated,
)
from steersman.kube.client.requests import NO_QUERY, Query, Request, Response
from steersman.kube.client.transport import HttpTransport, http_transport
from steersman.scheduler.host import PodEvent
from steersman.testing import make_pod, make_pod_group

GANG = make_pod_group("gang").gang(2).obj()


def test_the_three_events_of_a_scheduler_read_as_upstreams_do() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod, other = (server.store.create(make_pod(name).obj()) for name in ("web", "db"))
        async with dispatching(server) as dispatcher:
            dispatcher.report_failure(Failure(pod, "Unschedulable", "0/1 nodes are available", None))
            dispatcher.report_scheduled(PodShapes().info(pod), "n1")
            dispatcher.report_preempted(other, pod, "Preempted by pod web on node n1")
            await dispatcher.drain()
        by_reason = {event.reason: event for event in events(server)}
        failed, scheduled, preempted = (by_reason[name] for name in ("FailedScheduling", "Scheduled", "Preempted"))
        assert (failed.type, failed.action, failed.note) == ("Warning", "Scheduling", "0/1 nodes are available")
        assert (scheduled.type, scheduled.action) == ("Normal", "Binding")
        assert scheduled.note == "Successfully assigned default/web to n1"
        assert (preempted.type, preempted.action, preempted.regarding.name) == ("Normal", "Preempting", "db")
        assert preempted.related is None  # as kube-scheduler v1.36, which loses the preemptor on the way
        assert scheduled.regarding.uid == pod.metadata.uid
        assert scheduled.reporting_controller == "default-scheduler"
        assert scheduled.reporting_instance == "default-scheduler-host"
        assert scheduled.metadata.name.startswith("web.")

    run(scenario())


def test_an_event_of_a_preemption_for_a_group_is_related_to_the_group() -> None:
    async def scenario() -> None:
        server = ApiServer()
        victim, member = (server.store.create(make_pod(name).obj()) for name in ("db", "web"))
        async with dispatching(server) as dispatcher:
            dispatcher.report_preempted(victim, member, "Preempted by podgroup u on node cluster", GANG)
            await dispatcher.drain()
        (event,) = events(server)
        assert event.related == api.reference_to(GANG)
        assert (event.related.kind, event.related.name) == ("PodGroup", "gang")

    run(scenario())


def test_what_a_plugin_reports_is_an_event_of_the_pods_scheduler() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod = server.store.create(make_pod("web").scheduler("night").obj())
        async with dispatching(server) as dispatcher:
            dispatcher.report_event(pod, "QuotaExceeded", "the team has 3 pods of 3", is_warning=True)
            await dispatcher.drain()
        (event,) = events(server)
        assert (event.type, event.reason, event.note) == ("Warning", "QuotaExceeded", "the team has 3 pods of 3")
        assert (event.regarding.uid, event.reporting_controller) == (pod.metadata.uid, "night")
        assert event.action, "the API server wants one"

    run(scenario())


def test_equal_events_become_a_series() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod = server.store.create(make_pod("web").obj())
        async with dispatching(server) as dispatcher:
            for _ in range(3):
                dispatcher.report_failure(Failure(pod, "Unschedulable", "no", None))
                await dispatcher.drain()
        (event,) = events(server)
        assert event.series is not None
        assert event.series.count == 2, "the final count is written when the series has ended"

    run(scenario())


def test_a_series_is_written_at_its_end_and_now_and_then() -> None:
    book = EventSeriesBook()
    event = Event(reason="FailedScheduling", event_time="now")
    assert [book.observe(event, float(at)) is not None for at in range(3)] == [True, True, False]
    assert book.settle(FINISHED_SECONDS) == []
    for at in range(3, int(REFRESH_SECONDS) + 3, 300):
        book.observe(event, float(at))
    (refreshed,) = book.settle(REFRESH_SECONDS + 3)
    assert refreshed.series is not None
    assert refreshed.series.count == 9
    (last,) = book.settle(2 * REFRESH_SECONDS)
    assert last.series == refreshed.series
    assert len(book) == 0


def test_a_single_event_is_forgotten_without_another_word() -> None:
    book = EventSeriesBook()
    book.observe(Event(reason="FailedScheduling"), 0.0)
    assert book.settle(FINISHED_SECONDS) == []
    assert len(book) == 0


def test_an_event_that_a_pod_has_once_in_its_life_is_not_remembered() -> None:
    book, bound = EventSeriesBook(), Event(reason="Scheduled")
    assert book.observe(bound, 0.0) is bound
    assert len(book) == 0


def test_a_series_is_of_the_event_that_was_written_first() -> None:
    book = EventSeriesBook()
    first, again = (
        Event(metadata=api.ObjectMeta(name=name), reason="FailedScheduling", event_time=at)
        for name, at in (("web.1", "early"), ("web.2", "late"))
    )
    assert book.observe(first, 0.0) is first
    series = book.observe(again, 1.0)
    assert series is not None
    assert (series.metadata.name, series.event_time) == ("web.1", "early")
    assert series.series == EventSeries(count=2, last_observed_time="late")


def test_of_many_series_the_oldest_end_with_their_counts() -> None:
    book = EventSeriesBook()
    for index in range(MAX_SERIES + 3):
        for _ in range(2 + min(index, 3)):
            book.observe(Event(reason="FailedScheduling", action=f"{index}"), 0.0)
    assert len(book) == MAX_SERIES
    assert [event.series.count for event in book.settle(1.0) if event.series is not None] == [2, 3, 4]
    assert book.settle(2.0) == []


def test_of_many_different_events_only_the_latest_are_remembered() -> None:
    book = EventSeriesBook()
    often = Event(reason="FailedScheduling")
    assert [book.observe(often, 0.0) is not None for _ in range(2)] == [True, True]
    for index in range(MAX_SINGLE + 5):
        book.observe(Event(reason=f"Scheduled{index}"), 0.0)
    assert len(book) == MAX_SINGLE + 1
    latest = book.observe(Event(reason=f"Scheduled{MAX_SINGLE + 4}"), 0.0)
    assert latest is not None
    assert latest.series is not None
    oldest = book.observe(Event(reason="Scheduled0"), 0.0)
    assert oldest is not None
    assert oldest.series is None, "as if it were new"
    assert book.observe(often, 0.0) is None, "a series is not forgotten"


def test_a_series_whose_event_the_server_has_forgotten_is_written_again() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod = server.store.create(make_pod("web").obj())
        async with dispatching(server) as dispatcher:
            dispatcher.report_failure(Failure(pod, "Unschedulable", "no", None))
            await dispatcher.drain()
            server.store.delete(Event, api.key(events(server)[0]))
            dispatcher.report_failure(Failure(pod, "Unschedulable", "no", None))
            await dispatcher.drain()
        (event,) = events(server)
        assert event.series is not None

    run(scenario())


def test_an_event_whose_answer_is_lost_is_there_once() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod = server.store.create(make_pod("web").obj())
        server.faults.lose_answers = 1
        async with dispatching(server) as dispatcher:
            dispatcher.report_scheduled(PodShapes().info(pod), "n1")
            await dispatcher.drain()
        assert len(events(server)) == 1

    run(scenario())


class Story:
    """A transport and a way to sleep that tell the order of what was asked of them."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def sleep(self, seconds: float) -> None:
        if seconds >= SETTLE_SECONDS:
            await asyncio.Event().wait()
        self.told.append("a pause")

    async def request(self, request: Request, /) -> Response:
        self.told.append(request.method)
        return Response(201, b"{}")

    def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError


def test_an_event_waits_a_moment_so_that_bindings_go_first() -> None:
    async def scenario() -> None:
        story = Story()
        recorder = EventRecorder(story, Timing(sleep=story.sleep), "host")
        async with running(recorder.run()):
            pod = make_pod("web").obj()
            recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", ""))
            await until(lambda: "POST" in story.told)
        assert story.told == ["a pause", "POST"]

    run(scenario())


def test_events_of_the_same_moment_are_due_together() -> None:
    async def scenario() -> None:
        story, clock, pauses = Story(), ManualClock(), list[float]()

        async def sleep(seconds: float) -> None:
            pauses.append(clock.monotonic() + seconds)
            await asyncio.sleep(0)

        recorder = EventRecorder(story, Timing(clock, sleep=sleep), "host")
        for number in range(4):
            clock.advance(0.01)
            pod = make_pod(f"web-{number}").obj()
            recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", ""))
        due = TOGETHER_SECONDS * math.ceil((clock.monotonic() + BEHIND_BINDINGS_SECONDS) / TOGETHER_SECONDS)
        async with running(recorder.run()):
            await until(lambda: len(story.told) == 4)
        assert story.told == ["POST"] * 4
        assert [each for each in pauses if each < clock.monotonic() + 1.0] == pytest.approx([due] * 4)

    run(scenario())


def test_an_event_that_has_waited_is_written_at_once() -> None:
    async def scenario() -> None:
        story, clock = Story(), ManualClock()
        recorder = EventRecorder(story, Timing(clock, sleep=story.sleep), "host")
        pod = make_pod("web").obj()
        recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", ""))
        clock.advance(BEHIND_BINDINGS_SECONDS + TOGETHER_SECONDS)
        async with running(recorder.run()):
            await recorder.drain()
        assert story.told == ["POST"]

    run(scenario())


def test_an_event_that_has_waited_for_minutes_is_dropped_and_counted() -> None:
    async def scenario() -> None:
        story, clock = Reasons(), ManualClock()
        recorder = EventRecorder(story, Timing(clock, sleep=story.sleep), "host")
        record(recorder, "web", "FailedScheduling")
        clock.advance(BEHIND_BINDINGS_SECONDS + TOGETHER_SECONDS)
        record(recorder, "db", "Scheduled")
        clock.advance(MAX_QUEUED_SECONDS)
        async with running(recorder.run()):
            await recorder.drain()
        assert (story.told, recorder.dropped) == (["Scheduled"], 1)

    run(scenario())


def test_the_events_that_a_deleted_namespace_refuses_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = ApiServer()
        gone = "unable to create new content in namespace gone because it is being terminated"
        server.faults.refuse(403, times=103, part_of_path="/namespaces/gone/", reason="Forbidden", message=gone)
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            recorder = EventRecorder(transport, Timing(), "host")
            async with running(recorder.run()):
                for number in range(103):
                    pod = make_pod(f"web-{number}").namespace("gone").obj()
                    recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", ""))
                await recorder.drain()
            assert recorder.dropped == 103

    run(scenario())
    (line,) = (record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert line.startswith("103 events about pods of namespace gone are dropped, the last about web-")


def test_a_server_that_is_away_for_a_while_loses_no_event() -> None:
    async def scenario() -> None:
        server = ApiServer()
        server.faults.refuse(500, times=10, method="POST")
        async with server.serving() as address, http_transport(Connection(address)) as transport:
            recorder = EventRecorder(transport, IMPATIENT, "host")
            async with running(recorder.run()):
                pod = make_pod("web").obj()
                recorder.record(PodEvent(pod, "s", "Normal", "Scheduled", "Binding", ""))
                await recorder.drain()
        assert (len(events(server)), recorder.dropped) == (1, 0)

    run(scenario())


def record(recorder: EventRecorder, pod: str, reason: str) -> None:
    recorder.record(PodEvent(make_pod(pod).obj(), "s", "Normal", reason, "Binding", ""))


def test_events_that_find_no_room_are_dropped_and_counted() -> None:
    async def scenario() -> tuple[int, int]:
        recorder = EventRecorder(HttpTransport(Connection("http://127.0.0.1:1")), Timing(), "host")
        for index in range(QUEUE_LENGTH + 5):
            record(recorder, f"p{index}", "FailedScheduling")
        others = recorder.dropped
        record(recorder, "bound", "Scheduled")
        return others, recorder.dropped

    assert run(scenario()) == (5, 5), "an event of a bound pod still finds room"


class Reasons(Story):
    """Notes the reasons of the events in the order in which they are written."""

    async def request(self, request: Request, /) -> Response:
        self.told.append(json.loads(request.body or b"")["reason"])
        return Response(201, b"{}")


def test_events_of_bound_pods_are_written_before_others() -> None:
    async def scenario() -> list[str]:
        story = Reasons()
        recorder = EventRecorder(story, Timing(sleep=story.sleep), "host")
        for reason in ("FailedScheduling", "Scheduled"):
            for index in range(50):
                record(recorder, f"{reason}-{index}", reason)
        async with running(recorder.run()):
            await recorder.drain()
        return story.told

    assert run(scenario()) == ["Scheduled"] * 50 + ["FailedScheduling"] * 50


def test_a_long_note_is_cut_to_what_the_server_accepts() -> None:
    assert truncated("a" * 1024) == "a" * 1024
    assert truncated("a" * 1025) == "a" * 1020 + " ..."
    assert len(truncated("é" * 1000).encode()) <= 1024
