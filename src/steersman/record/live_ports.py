# SPDX-License-Identifier: Apache-2.0
"""Ports between a recorded scheduler and the outside: its clock, its watches, and everything that it asks somebody.

informers ─► RecordedSink ─► ingest          scheduler ─► RecordedWriter ─► dispatcher
clock ─► RecordedClock ─► scheduler           plugins ─► RecordedReader ─► API server
                                              cycle ─► RecordedExtender ─► extender
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.clock import Clock
from steersman.errors import SteersmanError
from steersman.framework.extender import Extender, ExtenderFilterOutcome, NodeVictims, PodsOn
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import ApiWriter, BindingBeginner, Failure
from steersman.framework.reading import ApiReader
from steersman.framework.status import Status
from steersman.framework.watching import EventSink
from steersman.record import answers
from steersman.record.frames import AnswerBody, WatchedChange
from steersman.record.live_recorder import LiveRecorder
from steersman.record.recorded_work import OutsideWork

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)

NOT_BEGUN: Final = msgspec.Raw(b"false")
"""The answer to a call that was to begin something, and has not."""


class RecordedClock:
    """The clock of the scheduler: what it shows is noted while the scheduler is at work."""

    def __init__(self, clock: Clock, recorder: LiveRecorder) -> None:
        self._now = clock.now
        self._monotonic = clock.monotonic
        self._recorder = recorder

    def now(self) -> float:
        reading = self._now()
        if self._recorder.is_inside:
            self._recorder.note_time(reading)
        return reading

    def monotonic(self) -> float:
        reading = self._monotonic()
        if self._recorder.is_inside:
            self._recorder.note_time(reading)
        return reading


class WatchedTexts:
    """The texts of objects that have been read and are about to be told: `client.ObjectTexts`. A watch has one at a time, a
    list all of its objects; those that were known in the same version are never told, and dropped with the next line."""

    def __init__(self) -> None:
        #: By kind, the last object of a watch, with its line.
        self.watched_last: dict[type[api.Object], tuple[api.Object, bytes]] = {}
        #: By identity, with the objects themselves: no other one can have it meanwhile.
        self._listed: dict[type[api.Object], dict[int, tuple[api.Object, msgspec.Raw]]] = {}

    def listed(self, obj: api.Object, text: msgspec.Raw) -> None:
        self._listed.setdefault(type(obj), {})[id(obj)] = obj, text

    def watched(self, obj: api.Object, line: bytes) -> None:
        self.watched_last[obj.__class__] = obj, line
        if self._listed:
            self._listed.pop(obj.__class__, None)

    def take_listed(self, obj: api.Object) -> msgspec.Raw | None:
        """The text that an object came with in a list; None: it came some other way."""
        found = self._listed.get(obj.__class__, {}).pop(id(obj), None)
        return None if found is None else found[1]


class RecordedSink:
    """Passes everything on to the scheduler, and notes it."""

    def __init__(self, sink: EventSink, texts: WatchedTexts, recorder: LiveRecorder) -> None:
        self._sink = sink
        self._changed = sink.changed
        self._texts = texts
        self._watched_last = texts.watched_last
        self._recorder = recorder

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._recorder.expects(kind, count)
        try:
            self._sink.expect(kind, count)
        finally:
            self._recorder.end()

    def changed(self, obj: api.Object) -> None:
        watched = self._watched_last.get(obj.__class__)
        if watched is not None and watched[0] is obj and not self._recorder.is_open:  # the line of a watch, as most are
            line = watched[1]
            self._recorder.tell("CHANGED", obj, self._changed, _in_brackets(line), len(line))
        else:
            self._tell(WatchedChange.CHANGED, obj, self._changed)

    def deleted(self, obj: api.Object) -> None:
        self._tell(WatchedChange.DELETED, obj, self._sink.deleted)

    def _tell(self, change: WatchedChange, obj: api.Object, tell: Callable[[api.Object], None]) -> None:
        watched = self._texts.watched_last.get(obj.__class__)
        if self._recorder.is_open:
            self._recorder.tell_meanwhile(change, obj, tell)
        elif watched is not None and watched[0] is obj:
            self._recorder.tell(change, obj, tell, _in_brackets(watched[1]), len(watched[1]))
        else:
            text = self._texts.take_listed(obj)
            self._recorder.tell(change, obj, tell, text, 0 if text is None else memoryview(text).nbytes)


def _in_brackets(line: bytes) -> msgspec.Raw:
    """The line of a watch, as a record has it."""
    return msgspec.Raw(b"[%b]" % line)


class _Asking:
    """Base of the ports that answer: every call has a number, and its answer is noted when the scheduler gets it."""

    def __init__(self, recorder: LiveRecorder) -> None:
        self._recorder = recorder

    async def _ask(self, work: Coroutine[Any, Any, T], shown: Callable[[T], msgspec.Raw]) -> T:
        recorder = self._recorder
        call = recorder.next_call()
        try:
            answer = await OutsideWork(work, recorder)
        except Exception as error:
            recorder.answered_with(answers.raised(call, error))
            raise
        if answer is None:
            recorder.answered(call)
        else:
            recorder.answered_with(AnswerBody(call, shown(answer)))
        return answer


class RecordedWriter(_Asking):
    """Implements `ApiWriter`."""

    def __init__(self, writer: ApiWriter, recorder: LiveRecorder) -> None:
        super().__init__(recorder)
        self._writer = writer

    @property
    def binds_at_once(self) -> bool:
        return self._writer.binds_at_once

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        call = self._recorder.next_call()
        status = self._outside(self._writer.bind_nowait, pod, node_name)
        if status is None:
            self._recorder.answered(call)
        else:
            self._recorder.answered_with(AnswerBody(call, answers.plain(status)))
        return status

    def report_failure(self, failure: Failure) -> None:
        self._report(self._writer.report_failure, failure)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        """Does the same as `_report`, written out: every pod comes here."""
        recorder = self._recorder
        recorder.next_call()
        was_inside, recorder.is_inside = recorder.is_inside, False
        try:
            self._writer.report_scheduled(pod, node_name)
        finally:
            recorder.is_inside = was_inside

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        self._report(self._writer.report_preempted, victim, preemptor, message)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._report(self._writer.report_event, pod, reason, note, is_warning=is_warning)

    def _report(self, report: Callable[..., None], *given: Any, **options: Any) -> None:
        """Reports something that nobody waits for; a call nevertheless, because a sandbox may tell the scheduler of objects
        meanwhile."""
        self._recorder.next_call()
        self._outside(report, *given, **options)

    def _outside(self, call: Callable[..., T], *given: Any, **options: Any) -> T:
        """Has the outside do something, in which the scheduler has no part."""
        recorder = self._recorder
        was_inside, recorder.is_inside = recorder.is_inside, False
        try:
            return call(*given, **options)
        finally:
            recorder.is_inside = was_inside

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return await self._ask(self._writer.bind(pod, node_name), answers.plain)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        patched = self._writer.patch_pod_status(pod, condition=condition, nominated_node_name=nominated_node_name)
        return await self._ask(patched, answers.plain)

    async def delete_pod(self, pod: api.Pod) -> bool:
        return await self._ask(self._writer.delete_pod(pod), answers.plain)

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return await self._ask(self._writer.update_volume(volume), answers.of_object)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return await self._ask(self._writer.update_claim(claim), answers.of_object)

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return await self._ask(self._writer.change_resource_claim(claim, change), answers.of_object)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._ask(self._writer.create_resource_claim(claim), answers.of_object)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._ask(self._writer.delete_resource_claim(claim), answers.plain)

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._ask(self._writer.set_extended_resource_claim(pod, status), answers.plain)


class RecordedBeginner(RecordedWriter):
    """A `RecordedWriter` that is a `BindingBeginner`, too: the end of a binding is a stimulus."""

    def __init__(self, writer: ApiWriter, beginner: BindingBeginner, recorder: LiveRecorder) -> None:
        """Writer and beginner are one."""
        super().__init__(writer, recorder)
        self._beginner = beginner

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        recorder = self._recorder
        call = recorder.next_call()
        was_inside, recorder.is_inside = recorder.is_inside, False
        try:
            has_begun = self._beginner.begin_bind(pod, node_name, partial(self._ended, call, on_end))
        except Exception as error:
            recorder.answered_with(answers.raised(call, error))
            raise
        finally:
            recorder.is_inside = was_inside
        if not has_begun:
            recorder.answered_with(AnswerBody(call, NOT_BEGUN))
        return has_begun

    def _ended(
        self, call: int, on_end: Callable[[SteersmanError | None], None], failure: SteersmanError | None
    ) -> None:
        recorder = self._recorder
        if recorder.is_open:  # a stimulus is not interrupted by another one
            asyncio.get_running_loop().call_soon(self._ended, call, on_end, failure)
            return
        recorder.call_ended(call, on_end, failure)

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        return await self._ask(self._beginner.resume_bind(pod, node_name, failed), answers.plain)


def recorded_writer(writer: ApiWriter, recorder: LiveRecorder) -> RecordedWriter:
    """A writer that can do what the given one can."""
    if isinstance(writer, BindingBeginner):
        return RecordedBeginner(writer, writer, recorder)
    return RecordedWriter(writer, recorder)


class RecordedReader(_Asking):
    """Implements `ApiReader`."""

    def __init__(self, reader: ApiReader, recorder: LiveRecorder) -> None:
        super().__init__(recorder)
        self._reader = reader

    async def get(self, kind: type[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        return await self._ask(self._reader.get(kind, name, namespace), answers.of_object)

    async def list(
        self, kind: type[ObjectT], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[ObjectT]:
        found = self._reader.list(kind, namespace, label_selector=label_selector, field_selector=field_selector)
        return await self._ask(found, answers.of_objects)

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return await self._ask(self._reader.get_document(api_version, kind, name, namespace), answers.plain)

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        found = self._reader.list_documents(
            api_version, kind, namespace, label_selector=label_selector, field_selector=field_selector
        )
        return await self._ask(found, answers.plain)


class RecordedExtender(answers.ExtenderStandIn, _Asking):
    """Implements `Extender`."""

    def __init__(self, extender: Extender, recorder: LiveRecorder) -> None:
        super().__init__(extender)
        _Asking.__init__(self, recorder)
        self._extender = extender

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        return await self._ask(self._extender.filter(pod, nodes), answers.plain)

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        return await self._ask(self._extender.prioritize(pod, nodes), answers.plain)

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        await self._ask(self._extender.bind(pod, node_name), answers.plain)

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        asked = self._extender.process_preemption(pod, victims, pods_on)
        return await self._ask(asked, answers.of_victims)
