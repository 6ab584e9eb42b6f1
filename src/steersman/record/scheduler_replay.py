# SPDX-License-Identifier: Apache-2.0
"""Replay of a live scheduler's record: another one gets the same stimuli and results in order.

frames ─► one stimulus with its results ─► scheduler ─► decisions, compared with the recorded ones
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import InputError, InternalErrors, ManualClock, RealClock, SeededRng, SteersmanError, describe
from steersman.framework import Extender
from steersman.kube.observe import AttemptMetrics, Metrics
from steersman.record.decisions import DecisionCollector
from steersman.record.expansion import snapshot_object
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    CallEndBody,
    DecisionBody,
    Frame,
    FrameKind,
    NestedWatchEventBody,
    RunBody,
    StateBody,
    TaskStepBody,
    TickBody,
    WatchedChange,
    WatchEventBody,
)
from steersman.record.items import kind_text
from steersman.record.ports import BeginnerPort, ExtenderPort, ReaderPort, WriterPort
from steersman.record.recorded_run import body_of
from steersman.record.replay_loop import (
    GatedTasks,
    ReplayedCalls,
    ReplayedClock,
    ReplayLoop,
    StepNotPossible,
    closed_unless_made,
)
from steersman.scheduler.assembly import HostAction, Scheduler, SchedulerOptions, restore_scheduler

StimulusBody: TypeAlias = WatchEventBody | TickBody | TaskStepBody | CallEndBody
ResultBody: TypeAlias = DecisionBody | BindingBody | AnswerBody | NestedWatchEventBody
_STIMULUS_BODIES: Final[dict[int, type[StimulusBody]]] = {
    FrameKind.WATCH_EVENT: WatchEventBody,
    FrameKind.TICK: TickBody,
    FrameKind.TASK_STEP: TaskStepBody,
    FrameKind.CALL_END: CallEndBody,
}
_RESULT_BODIES: Final[dict[int, type[ResultBody]]] = {
    FrameKind.DECISION: DecisionBody,
    FrameKind.BINDING: BindingBody,
    FrameKind.ANSWER: AnswerBody,
    FrameKind.NESTED_WATCH_EVENT: NestedWatchEventBody,
}


class RecordedStimulus(msgspec.Struct, frozen=True):
    """A stimulus with its results."""

    time: float
    body: StimulusBody
    decisions: tuple[DecisionBody, ...] = ()
    bindings: tuple[BindingBody, ...] = ()
    answers: tuple[AnswerBody, ...] = ()
    #: Objects that were delivered during calls.
    told: tuple[NestedWatchEventBody, ...] = ()


def stimuli(frames: Iterable[Frame], directory: Path) -> Iterator[RecordedStimulus | Frame]:
    """Yield the stimuli of a record, and the frames outside stimuli (snapshots, the end), in order.
    Raises `InputError`."""
    stimulus: Frame | None = None
    results: list[ResultBody] = []
    for frame in frames:
        if frame.kind in _RESULT_BODIES:
            results.append(body_of(frame, _RESULT_BODIES[frame.kind], directory))
            continue
        if stimulus is not None:
            yield _recorded(stimulus, results, directory)
        stimulus = frame if frame.kind in _STIMULUS_BODIES else None
        results = []
        if stimulus is None:
            yield frame
    if stimulus is not None:
        yield _recorded(stimulus, results, directory)


def _recorded(frame: Frame, results: list[ResultBody], directory: Path) -> RecordedStimulus:
    return RecordedStimulus(
        frame.time,
        body_of(frame, _STIMULUS_BODIES[frame.kind], directory),
        tuple(one for one in results if isinstance(one, DecisionBody)),
        tuple(one for one in results if isinstance(one, BindingBody)),
        tuple(one for one in results if isinstance(one, AnswerBody)),
        tuple(one for one in results if isinstance(one, NestedWatchEventBody)),
    )


# -- replay ------------------------------------------------------------------------------------------------------------


T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=api.Object)

REPLAY: Final = "replay"
"""Component name in reports to `ReplayErrors`."""


class ReplayErrors(InternalErrors):
    """Counter of internal errors that the replay survives, with the text of the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ""

    def survived(self, where: str, subject: str, error: BaseException) -> None:
        if isinstance(error, MemoryError):
            raise error
        self.counts[where] += 1
        self.first = self.first or f"at {where} of {subject}: {describe(error)}"


class SchedulerReplay:
    """A scheduler driven by the record of one process."""

    def __init__(self, run: RunBody, options: SchedulerOptions, extenders: Sequence[Extender] = ()) -> None:
        """`extenders` have the recorded settings; they are never called."""
        self._loop_clock = ManualClock(0.0)
        self._loop = ReplayLoop(self._loop_clock)
        self._clock = ReplayedClock()
        self._calls = ReplayedCalls(self._loop)
        self.tasks = GatedTasks(self._loop)
        self.internal_errors = ReplayErrors()
        made = msgspec.structs.replace(
            options,
            extenders=[ExtenderPort(self._calls, one) for one in extenders],
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
                ReaderPort(self._calls),
            )
        self._kinds = {kind_text(kind): kind for kind in self.scheduler.watched_kinds}
        self._calls.tell = self._deliver
        self._time = run.start
        self._collector = DecisionCollector(lambda: self._time)
        self.scheduler.observe(self._collector)
        queue = self.scheduler.queue
        self._acts: dict[HostAction, Callable[[], object]] = {
            HostAction.ATTEMPT: self.scheduler.schedule_one,
            HostAction.BACKOFF: queue.flush_backoff,
            HostAction.UNSCHEDULABLE: queue.flush_unschedulable,
            HostAction.LOST_PODS: self.scheduler.requeue_lost_pods,
            HostAction.POSTPONED: self.scheduler.postponed.run_slice,
            HostAction.POSTPONED_END: self.scheduler.postponed.drop_all,
        }

    def _writer(self, run: RunBody) -> WriterPort:
        if run.begins_bindings:
            return BeginnerPort(self._calls)
        return WriterPort(self._calls, binds_at_once=run.binds_at_once)

    def resume(self, state: StateBody, objects: Iterable[Frame]) -> None:
        """Start from a snapshot instead of the beginning of a process. Raises `InputError`."""

        def before_binding(number: int) -> None:
            self._calls.continue_after(state.open_calls[number] - 1)

        self._clock.load([state.scheduler.clock])
        self.tasks.continue_after(state.binding_task - 1)
        known = [snapshot_object(frame, self._kinds) for frame in objects]
        restore_scheduler(self.scheduler, state.scheduler, known, before_binding)
        self._calls.continue_after(state.calls)
        if state.has_begun:
            self.tasks.step(TaskStepBody(state.binding_task), self._time)
        self.tasks.continue_after(state.tasks)
        self._loop.run_ready()

    def give(self, stimulus: RecordedStimulus) -> list[DecisionBody]:
        """Return the decisions on the stimulus. Raises `StepNotPossible` after divergence."""
        body, time = stimulus.body, stimulus.time
        self._time = time
        self._loop_clock.set(max(self._loop_clock.now(), time))
        self._calls.load(stimulus.answers, stimulus.told)
        self._clock.load(body.clock)
        if isinstance(body, WatchEventBody):
            self._deliver(body)
        elif isinstance(body, TickBody):
            self._tick(body)
        elif isinstance(body, CallEndBody):
            self._end_call(body)
        else:
            self.tasks.step(body, time)
        self._loop.run_ready()
        return self._collector.take()

    def _deliver(self, body: WatchEventBody) -> None:
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
            return  # the recorded host ignored it too
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
            self._calls.end(body)
        except StepNotPossible:
            raise
        except Exception as error:
            self.internal_errors.survived(REPLAY, f"call {body.call}", error)

    def close(self) -> None:
        self.tasks.close()
