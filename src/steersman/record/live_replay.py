# SPDX-License-Identifier: Apache-2.0
"""Replays the record of a live scheduler: another one is given the same stimuli in the same order, and the same answers.

frames ─► one stimulus, with what came of it ─► scheduler ─► its decisions, beside those that were recorded
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.assembly.stimuli import Stimulus
from steersman.clock import ManualClock, RealClock
from steersman.errors import InputError, SteersmanError
from steersman.framework.extender import Extender, ExtenderFilterOutcome, NodeVictims, PodsOn
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Failure
from steersman.framework.status import Status
from steersman.internal_errors import InternalErrors, describe
from steersman.observe import AttemptMetrics, Metrics
from steersman.record import answers
from steersman.record.decisions import DecisionObserver
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    CallEndBody,
    DecisionBody,
    Frame,
    FrameKind,
    RunBody,
    TaskStepBody,
    TickBody,
    ToldBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.live_items import kind_text
from steersman.record.recorded_run import body_of
from steersman.record.replay_loop import GatedTasks, ReplayLoop, StepNotPossible, closed_unless_made
from steersman.rng import SeededRng

T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)

REPLAY: Final = "replay"
"""Where an error was survived, as the recorded scheduler has survived it."""


StimulusBody: TypeAlias = WatchEventBody | TickBody | TaskStepBody | CallEndBody
_STIMULUS_BODIES: Final[dict[int, type[StimulusBody]]] = {
    FrameKind.WATCH_EVENT: WatchEventBody,
    FrameKind.TICK: TickBody,
    FrameKind.TASK_STEP: TaskStepBody,
    FrameKind.CALL_END: CallEndBody,
}


class RecordedStimulus(msgspec.Struct, frozen=True):
    """A stimulus with everything that came of it."""

    time: float
    body: StimulusBody
    decisions: tuple[DecisionBody, ...] = ()
    bindings: tuple[BindingBody, ...] = ()
    answers: tuple[AnswerBody, ...] = ()
    #: Objects that were told in the middle of calls.
    told: tuple[ToldBody, ...] = ()


def stimuli(frames: Iterable[Frame], directory: Path) -> Iterator[RecordedStimulus | Frame]:
    """The stimuli of a record, and in between the frames that are no part of one (snapshots, the end). Raises `InputError`."""
    stimulus: Frame | None = None
    results = _Results(directory)
    for frame in frames:
        if results.take(frame):
            continue
        if stimulus is not None:
            yield results.of(stimulus)
        stimulus = frame if frame.kind in _STIMULUS_BODIES else None
        results = _Results(directory)
        if stimulus is None:
            yield frame
    if stimulus is not None:
        yield results.of(stimulus)


class _Results:
    """Decisions, bindings, answers and told objects that came of one stimulus."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._decisions: list[DecisionBody] = []
        self._bindings: list[BindingBody] = []
        self._answers: list[AnswerBody] = []
        self._told: list[ToldBody] = []

    def take(self, frame: Frame) -> bool:
        """Whether the frame is of this kind."""
        if frame.kind == FrameKind.TOLD_MEANWHILE:
            self._told.append(body_of(frame, ToldBody, self._directory))
        elif frame.kind == FrameKind.DECISION:
            self._decisions.append(body_of(frame, DecisionBody, self._directory))
        elif frame.kind == FrameKind.BINDING:
            self._bindings.append(body_of(frame, BindingBody, self._directory))
        elif frame.kind == FrameKind.ANSWER:
            self._answers.append(body_of(frame, AnswerBody, self._directory))
        else:
            return False
        return True

    def of(self, frame: Frame) -> RecordedStimulus:
        body = body_of(frame, _STIMULUS_BODIES[frame.kind], self._directory)
        results = (tuple(self._decisions), tuple(self._bindings), tuple(self._answers), tuple(self._told))
        return RecordedStimulus(frame.time, body, *results)


class ReplayedClock:
    """Shows what the clock has shown. A scheduler that asks more often than the recorded one sees the last time again."""

    def __init__(self) -> None:
        self._readings: list[float] = []
        self._last = 0.0

    def load(self, readings: Sequence[float]) -> None:
        """Readings of the clock while the scheduler dealt with one stimulus."""
        self._readings = list(reversed(readings))

    def now(self) -> float:
        if self._readings:
            self._last = self._readings.pop()
        return self._last

    def monotonic(self) -> float:
        return self.now()


class ReplayedAnswers:
    """Gives answers as they came; calls are counted."""

    def __init__(self, loop: ReplayLoop) -> None:
        self._loop = loop
        self._calls = 0
        self._known: dict[int, AnswerBody] = {}
        self._awaited: dict[int, Any] = {}
        self._told: dict[int, list[ToldBody]] = {}
        #: Tells the scheduler of an object, in the middle of a call.
        self.tell: Callable[[WatchEventBody], None] = lambda body: None

    def load(self, answered: Iterable[AnswerBody], told: Iterable[ToldBody] = ()) -> None:
        """These calls are answered; who waits for one can go on. `told` is what is told in the middle of calls."""
        for body in told:
            self._told.setdefault(body.call, []).append(body)
        for answer in answered:
            waiting = self._awaited.pop(answer.call, None)
            if waiting is None:
                self._known[answer.call] = answer
            elif not waiting.done():
                waiting.set_result(answer)

    def begin_call(self) -> int:
        """The number of the next call, in the middle of which the scheduler is told what it was told."""
        self._calls += 1
        for body in self._told.pop(self._calls, ()):
            self.tell(body)
        return self._calls

    def at_once(self, read: Callable[[msgspec.Raw], T]) -> T | None:
        """The answer to the next call, which does not wait; None if the record has none."""
        answer = self.known(self.begin_call())
        return None if answer is None else read(answer.value)

    def known(self, call: int) -> AnswerBody | None:
        """The answer to a call that came in the stimulus which made it; None: none did."""
        return self._known.pop(call, None)

    async def next(self, read: Callable[[msgspec.Raw], T]) -> T:
        """The answer to the next call."""
        call = self.begin_call()
        answer = self._known.pop(call, None)
        if answer is None:
            waiting = self._awaited[call] = self._loop.create_future()
            answer = await waiting
        if answer.error is not None:
            raise answers.error_of(answer.error)
        return read(answer.value)


class BegunCalls:
    """Calls that no task waits for: who is told of their ends, by their numbers."""

    def __init__(self) -> None:
        self._on_end: dict[int, Callable[[SteersmanError | None], None]] = {}

    def add(self, call: int, on_end: Callable[[SteersmanError | None], None]) -> None:
        self._on_end[call] = on_end

    def end(self, body: CallEndBody) -> None:
        """Tells how the call ended. Raises `StepNotPossible` if it was never begun."""
        on_end = self._on_end.pop(body.call, None)
        if on_end is None:
            raise StepNotPossible(f"call {body.call} was not begun")
        error = None if body.error is None else answers.error_of(body.error)
        on_end(error if error is None or isinstance(error, SteersmanError) else SteersmanError(str(error)))


class ReplayedWriter:
    """An `ApiWriter` that writes nothing, and answers as the API server did."""

    def __init__(self, replayed: ReplayedAnswers, *, binds_at_once: bool = False) -> None:
        self._answers = replayed
        self.binds_at_once = binds_at_once

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        status: Status | None = self._answers.at_once(answers.as_status)
        return status

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        return await self._answers.next(answers.as_status)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return bool(await self._answers.next(answers.as_type(bool)))

    async def delete_pod(self, pod: api.Pod) -> bool:
        return bool(await self._answers.next(answers.as_type(bool)))

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return await self._stored(volume)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return await self._stored(claim)

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return await self._stored(claim)

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return await self._stored(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        await self._answers.next(answers.as_type(None))

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        await self._answers.next(answers.as_type(None))

    async def _stored(self, obj: ObjectT) -> ObjectT:
        return await self._answers.next(lambda value: codec.decode(value, type(obj)))

    # Conditions and events of a replay go nowhere; but what the scheduler was told because of them it is told again.

    def report_failure(self, failure: Failure) -> None:
        self._answers.begin_call()

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        self._answers.begin_call()

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        self._answers.begin_call()

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._answers.begin_call()


class ReplayedBeginner(ReplayedWriter):
    """A `ReplayedWriter` that is a `BindingBeginner`, too."""

    def __init__(self, replayed: ReplayedAnswers, begun: BegunCalls) -> None:
        super().__init__(replayed)
        self._begun = begun

    def begin_bind(self, pod: PodInfo, node_name: str, on_end: Callable[[SteersmanError | None], None]) -> bool:
        call = self._answers.begin_call()
        answer = self._answers.known(call)
        if answer is None:
            self._begun.add(call, on_end)
            return True
        if answer.error is not None:
            raise answers.error_of(answer.error)
        return False

    async def resume_bind(self, pod: PodInfo, node_name: str, failed: SteersmanError) -> Status | None:
        return await self._answers.next(answers.as_status)


class ReplayedReader:
    """An `ApiReader` that reads what plugins have read."""

    def __init__(self, replayed: ReplayedAnswers) -> None:
        self._answers = replayed

    async def get(self, kind: type[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        return await self._answers.next(answers.as_object(kind))

    async def list(
        self, kind: type[ObjectT], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[ObjectT]:
        return await self._answers.next(answers.as_objects(kind))

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        found: dict[str, Any] | None = await self._answers.next(answers.as_type(dict[str, Any] | None))
        return found

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._answers.next(answers.as_type(list[dict[str, Any]]))
        return found


class ReplayedExtender(answers.ExtenderStandIn):
    """An `Extender` that answers as it did; `like` is one with the same settings, which is never asked."""

    def __init__(self, like: Extender, replayed: ReplayedAnswers) -> None:
        super().__init__(like)
        self._answers = replayed

    async def filter(self, pod: PodInfo, nodes: Sequence[api.Node]) -> ExtenderFilterOutcome:
        outcome: ExtenderFilterOutcome = await self._answers.next(answers.as_outcome)
        return outcome

    async def prioritize(self, pod: PodInfo, nodes: Sequence[api.Node]) -> Mapping[str, int]:
        priorities: dict[str, int] = await self._answers.next(answers.as_type(dict[str, int]))
        return priorities

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        await self._answers.next(answers.as_type(None))

    async def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> Mapping[str, NodeVictims]:
        return await self._answers.next(answers.as_victims(pods_on))


class ReplayErrors(InternalErrors):
    """Programming errors that were survived in a replay, as the recorded scheduler has survived them: the user is told of the
    first, in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ""

    def survived(self, where: str, subject: str, error: Exception) -> None:
        if isinstance(error, MemoryError):
            raise error
        self.counts[where] += 1
        self.first = self.first or f"at {where} of {subject}: {describe(error)}"


class LiveReplay:
    """A scheduler that is driven by a record. Made anew for every process that was recorded."""

    def __init__(self, run: RunBody, options: SchedulerOptions, extenders: Sequence[Extender] = ()) -> None:
        """`extenders` are like the recorded ones; they are never asked."""
        self._loop_clock = ManualClock(0.0)
        self._loop = ReplayLoop(self._loop_clock)
        self._clock = ReplayedClock()
        self._answers = ReplayedAnswers(self._loop)
        self._begun = BegunCalls()
        self.tasks = GatedTasks(self._loop)
        self.internal_errors = ReplayErrors()
        made = msgspec.structs.replace(
            options,
            extenders=[ReplayedExtender(one, self._answers) for one in extenders],
            internal_errors=self.internal_errors,
            postpones=run.postpones,
            max_in_unschedulable=run.max_in_unschedulable or options.max_in_unschedulable,
            instruments=AttemptMetrics(Metrics(), RealClock()),
        )
        with closed_unless_made(self._loop):
            self.scheduler = Scheduler(
                self._clock,
                SeededRng(run.seed),
                self._writer(run),
                self.tasks.spawn,
                made,
                ReplayedReader(self._answers),
            )
        self._kinds = {kind_text(kind): kind for kind in self.scheduler.watched_kinds}
        self._answers.tell = self._tell
        self._time = run.start
        self._decided: list[DecisionBody] = []
        self.scheduler.observe(DecisionObserver(lambda: self._time, self._note))
        queue = self.scheduler.queue
        self._acts: dict[Stimulus, Callable[[], object]] = {
            Stimulus.ATTEMPT: self.scheduler.schedule_one,
            Stimulus.BACKOFF: queue.flush_backoff,
            Stimulus.UNSCHEDULABLE: queue.flush_unschedulable,
            Stimulus.LOST_PODS: self.scheduler.adopt_lost_pods,
            Stimulus.POSTPONED: self.scheduler.postponed.run_slice,
            Stimulus.POSTPONED_END: self.scheduler.postponed.drop_all,
        }

    def _writer(self, run: RunBody) -> ReplayedWriter:
        if run.begins_bindings:
            return ReplayedBeginner(self._answers, self._begun)
        return ReplayedWriter(self._answers, binds_at_once=run.binds_at_once)

    def _note(self, body: DecisionBody | BindingBody) -> None:
        if isinstance(body, DecisionBody):
            self._decided.append(body)

    def give(self, stimulus: RecordedStimulus) -> list[DecisionBody]:
        """The decisions that the stimulus leads to. Raises `StepNotPossible` if this scheduler is not where the other was."""
        body, time = stimulus.body, stimulus.time
        self._time = time
        self._loop_clock.set(max(self._loop_clock.now(), time))
        self._decided = []
        self._answers.load(stimulus.answers, stimulus.told)
        self._clock.load(body.clock)
        if isinstance(body, WatchEventBody):
            self._tell(body)
        elif isinstance(body, TickBody):
            self._tick(body)
        elif isinstance(body, CallEndBody):
            self._end_call(body)
        else:
            self.tasks.step(body, time)
        self._loop.run_ready()
        return self._decided

    def _tell(self, body: WatchEventBody) -> None:
        kind = self._kinds.get(body.kind)
        if kind is None:
            raise InputError("is not a kind that this scheduler watches", object="record", value=body.kind)
        ingest = self.scheduler.ingest
        try:
            if body.type is WatchedChange.EXPECTED:
                ingest.expect(kind, msgspec.json.decode(body.object, type=int))
            elif body.type is WatchedChange.CHANGED:
                ingest.changed(codec.decode(body.object, kind))
            else:
                ingest.deleted(codec.decode(body.object, kind))
        except SteersmanError:
            return  # as it was the first time, and whoever told it has gone on
        except Exception as error:
            self.internal_errors.survived(REPLAY, body.kind, error)

    def _tick(self, body: TickBody) -> None:
        if body.task:
            self._loop.create_task(self.scheduler.schedule_one_async())
            return
        try:
            self._acts[body.what]()
        except Exception as error:
            self.internal_errors.survived(REPLAY, body.what, error)

    def _end_call(self, body: CallEndBody) -> None:
        try:
            self._begun.end(body)
        except StepNotPossible:
            raise
        except Exception as error:
            self.internal_errors.survived(REPLAY, f"call {body.call}", error)

    def close(self) -> None:
        self.tasks.close()
