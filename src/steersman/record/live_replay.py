# SPDX-License-Identifier: Apache-2.0
"""Replays the record of a live scheduler: another one is given the same stimuli in the same order, and the same answers.

frames ─► one stimulus, with what came of it ─► scheduler ─► its decisions, beside those that were recorded
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.assembly import Scheduler, SchedulerOptions
from steersman.assembly.stimuli import Stimulus
from steersman.clock import ManualClock, RealClock
from steersman.errors import InputError, SteersmanError
from steersman.framework.extender import Extender
from steersman.internal_errors import InternalErrors, describe
from steersman.observe import AttemptMetrics, Metrics
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
from steersman.record.replayed_ports import (
    BegunCalls,
    ReplayedAnswers,
    ReplayedBeginner,
    ReplayedClock,
    ReplayedExtender,
    ReplayedReader,
    ReplayedWriter,
)
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
