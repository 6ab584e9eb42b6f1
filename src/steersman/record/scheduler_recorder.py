# SPDX-License-Identifier: Apache-2.0
"""Recorder of a live scheduler: every stimulus in order, and its results.

A scheduler runs in one thread, in uninterrupted steps: an object is delivered, a pod is tried, a
queue is flushed, or a coroutine continues. Each step is a stimulus. Its clock readings and API
server responses are recorded too, so that the same stimuli in the same order lead to the same
decisions (`scheduler_replay`). `recording` wraps the scheduler's external interfaces.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from itertools import chain
from typing import Any, Final, Generic, TypeVar

import msgspec

from steersman import api
from steersman.base import Clock, SteersmanError, WrappedCoroutine
from steersman.framework import Spawn
from steersman.record.frames import AnswerBody, FrameKind, RunBody, StateBody, StepCause, encoded
from steersman.record.items import ANSWER, END, EXPECTED, STEP, TICK, TOLD, kind_text, subject_of, subject_prefix
from steersman.record.log import RecordLog
from steersman.record.ports import raised_error
from steersman.record.recorder import PlacementObserver, Recorder, SnapshotContents
from steersman.scheduler.assembly import HostAction, ObjectOrder, Scheduler, save_scheduler

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_WAIT_SECONDS: Final = 10.0
"""Maximum delay of a new segment until the scheduler's state can be serialised."""


class SchedulerRecorder(Recorder):
    """Recorder of the stimuli of one scheduler. Used only by the scheduling loop."""

    def __init__(self, log: RecordLog, run: RunBody, clock: Clock) -> None:
        #: The running coroutine.
        self.stepping: RecordedWork[Any] | None = None
        self._tasks = self._calls = 0
        #: Kind → (recorded name, prefix of its subjects or "" for pods, whether it is namespaced).
        self._kinds: dict[type[api.Object], tuple[str, str, bool]] = {}
        self._objects: Callable[[], Sequence[api.Object]] = tuple
        self._scheduler: Scheduler | None = None
        #: Unfinished coroutines by number, and the numbers of unfinished `begin` calls.
        self.open_tasks: dict[int, RecordedWork[Any]] = {}
        self.open_calls: set[int] = set()
        #: State for the next segment; time since which a serialisable state has been awaited.
        self._state: StateBody | None = None
        self._wanted_since: float | None = None
        super().__init__(log, run, clock)

    def observe(self, scheduler: Scheduler, objects: Callable[[], Sequence[api.Object]]) -> None:
        """Start recording the scheduler's decisions, and its objects in snapshots."""
        self._objects = objects
        self._scheduler = scheduler
        scheduler.observe(PlacementObserver(self))

    # -- stimuli -------------------------------------------------------------------------------------------------------

    def act(self, stimulus: HostAction, act: Callable[[], T]) -> T:
        """Run an action of the host (implements `assembly.host_actions.RunAction`)."""
        self._begin(TICK, stimulus, 0)
        try:
            return act()
        finally:
            self.end()

    def deliver(
        self,
        change: str,
        obj: api.Object,
        tell: Callable[[api.Object], None],
        text: msgspec.Raw | None = None,
        size: int = 0,
    ) -> None:
        """Deliver an object to the scheduler, the most frequent stimulus.

        `text` is the JSON from the API server, alone or as a watch line `[line]`, of `size` bytes.
        """
        if self._log.wants_attention:
            self._attend()
        noted, meta = self._noted, obj.metadata
        kind, prefix, is_namespaced = self._kinds.get(obj.__class__) or self._add_kind(obj.__class__)
        key = f"{meta.namespace or 'default'}/{meta.name}" if is_namespaced else meta.name
        self.time = time = self._epoch + self._monotonic()
        noted.parts += (change, time, kind, key, text or obj)
        if prefix:
            noted.others.add(prefix + key)
        else:
            noted.pods.add(key)
        if text is None:
            noted.objects.append(len(noted.parts) - 1)
        noted.text_bytes += size
        self.is_inside = self.is_open = True
        try:
            tell(obj)
        finally:
            self.end()

    def _add_kind(self, kind: type[api.Object]) -> tuple[str, str, bool]:
        text = kind_text(kind)
        found = text, "" if kind is api.Pod else subject_prefix(text), kind.NAMESPACED
        self._kinds[kind] = found
        return found

    def deliver_nested(self, change: str, obj: api.Object, tell: Callable[[api.Object], None]) -> None:
        """Deliver an object that an external call changed synchronously, during a stimulus."""
        kind, subject = kind_text(obj.__class__), subject_of(obj)
        noted = self._noted
        noted.parts += (TOLD, self._calls, change, kind, subject.partition("/")[2], obj)
        noted.others.add(subject)
        noted.objects.append(len(noted.parts) - 1)
        was_inside, self.is_inside = self.is_inside, True
        try:
            tell(obj)
        finally:
            self.is_inside = was_inside

    def expects(self, kind: type[api.Object], count: int) -> None:
        """Begin the stimulus of a list with `count` objects; `end` follows."""
        self._begin(EXPECTED, kind_text(kind), count)

    def steps(self, task: int, cause: StepCause) -> None:
        """Begin the stimulus of a coroutine that continues; `end` follows."""
        self._begin(STEP, task, cause)

    def call_ended(
        self, call: int, on_end: Callable[[SteersmanError | None], None], failure: SteersmanError | None
    ) -> None:
        """Deliver the end of a call that no task awaits."""
        self._begin(END, call, None if failure is None else raised_error(failure))
        self.open_calls.discard(call)
        try:
            on_end(failure)
        finally:
            self.end()

    def _begin(self, name: str, first: object, second: object) -> None:
        if self._log.wants_attention:
            self._attend()
        self.time = time = self._epoch + self._monotonic()
        self._parts += (name, time, first, second)
        self.is_inside = self.is_open = True

    # -- results -------------------------------------------------------------------------------------------------------

    def next_call(self) -> int:
        """Return the number of a new external call."""
        self._calls += 1
        return self._calls

    def answered(self, call: int) -> None:
        """Record that a call has ended without a value."""
        self._parts += (ANSWER, call)

    def answered_with(self, answer: AnswerBody) -> None:
        self._parts += (ANSWER, answer)

    # -- coroutines ----------------------------------------------------------------------------------------------------

    def recorded(self, work: Coroutine[Any, Any, T]) -> RecordedWork[T]:
        """Return the scheduler's coroutine with its steps recorded."""
        self._tasks += 1
        self.open_tasks[self._tasks] = recorded = RecordedWork(work, self._tasks, self)
        return recorded

    def spawning(self, spawn: Spawn) -> Spawn:
        """Return a variant of `spawn` that records the coroutines' steps."""

        def spawn_recorded(work: Coroutine[Any, Any, None]) -> object:
            recorded, inside = self.recorded(work), self.is_inside
            self.is_inside = False  # the new task is recorded already
            try:
                return spawn(recorded)
            finally:
                self.is_inside = inside

        return spawn_recorded

    def new_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        """Create a task; records tasks that the scheduler's coroutines create (a task factory)."""
        return asyncio.Task(self.recorded(work) if self.is_inside else work, loop=loop, **options)

    async def attempt(self, scheduler: Scheduler) -> Any:
        """Make an attempt that may wait for extenders."""
        work = self.recorded(scheduler.schedule_one_async())
        self._begin(TICK, HostAction.ATTEMPT, work.number)
        self.end()
        return await work

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def _is_time_for_segment(self) -> bool:
        """Return whether the state is serialisable, or has not been for `MAX_WAIT_SECONDS`."""
        self._state = self._saved_state()
        now = self._monotonic()
        if self._wanted_since is None:
            self._wanted_since = now
        if self._state is None and now - self._wanted_since < MAX_WAIT_SECONDS:
            return False
        self._wanted_since = None
        return True

    def _saved_state(self) -> StateBody | None:
        """Return the scheduler's state; None while coroutines other than the binding task run."""
        scheduler = self._scheduler
        if scheduler is None or len(self.open_tasks) > 1:
            return None
        direct = scheduler.binding.direct
        under_way = 0 if direct is None else len(direct.in_progress)
        has_task = direct is not None and direct.has_waiting_task
        if len(self.open_tasks) != has_task or len(self.open_calls) != under_way:
            return None
        saved = save_scheduler(scheduler)
        if saved is None:
            return None
        number, work = next(iter(self.open_tasks.items()), (0, None))
        return StateBody(
            scheduler=saved,
            calls=self._calls,
            tasks=self._tasks,
            open_calls=tuple(sorted(self.open_calls)),
            binding_task=number,
            has_begun=work is not None and work.has_begun,
        )

    def _snapshot_contents(self) -> SnapshotContents:
        scheduler, state, self._state = self._scheduler, self._state, None
        if scheduler is None:
            return SnapshotContents(0, ())
        objects = self._known_objects(scheduler)
        if state is None:
            return SnapshotContents(len(objects), objects)
        # Sorted and encoded in the writing thread.
        ordered = ObjectOrder(scheduler).ordered(objects)
        frame = encoded(FrameKind.STATE, self._now(), state)
        return SnapshotContents(len(objects) + 1, chain(ordered, (frame,)))

    def _known_objects(self, scheduler: Scheduler) -> Sequence[api.Object]:
        """Return the scheduler's known objects and finished pods. The host may know newer ones."""
        pods = scheduler.pods
        finished = (
            obj
            for obj in self._objects()
            if isinstance(obj, api.Pod) and obj.status.phase in api.FINISHED_PHASES and api.key(obj) not in pods
        )
        return [*scheduler.known_objects(), *pods.values(), *finished]

    def close(self) -> None:
        """Close the record properly."""
        self._close_log()


# -- coroutines --------------------------------------------------------------------------------------------------------


class RecordedWork(WrappedCoroutine[T], Generic[T]):
    """A coroutine whose steps are stimuli of its scheduler."""

    def __init__(self, work: Coroutine[Any, Any, T], number: int, recorder: SchedulerRecorder) -> None:
        super().__init__(work)
        self.number = number
        self._recorder = recorder
        #: Whether it awaits external work, which continues by itself.
        self.is_outside = False
        #: Whether it has made its first step.
        self.has_begun = False

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        return self._record_step(_cause(raised), resume)

    def close(self) -> None:
        self.is_outside = False
        self._record_step(StepCause.CLOSED, self._work.close)

    def _record_step(self, cause: StepCause, resume: Callable[[], Any]) -> Any:
        recorder = self._recorder
        recorder.stepping = self
        if not self.is_outside:
            recorder.steps(self.number, cause)  # a snapshot may be made here, before the step
        self.has_begun = True
        try:
            awaited = resume()
        except BaseException:
            recorder.open_tasks.pop(self.number, None)
            raise
        else:
            if cause is StepCause.CLOSED:
                recorder.open_tasks.pop(self.number, None)
            return awaited
        finally:
            recorder.stepping = None
            if not self.is_outside or recorder.is_inside:
                recorder.end()


class HostWork(WrappedCoroutine[T], Generic[T]):
    """A coroutine of the host, awaited by the scheduler. While it runs, the scheduler does not."""

    def __init__(self, work: Coroutine[Any, Any, T], recorder: SchedulerRecorder) -> None:
        super().__init__(work)
        self._recorder = recorder
        #: The awaiting coroutine; None before the first step, which is part of the awaiting
        #: coroutine's step.
        self._waiting: RecordedWork[Any] | None = None

    def _step(self, resume: Callable[[], Any], raised: object = None) -> Any:
        recorder, waiting = self._recorder, self._waiting
        recorder.is_inside = False
        try:
            waits_for = resume()
        except BaseException as end:
            if waiting is None:
                recorder.is_inside = True  # it ended without waiting
            else:
                waiting.is_outside = False
                recorder.steps(waiting.number, _cause(end))
            raise
        if waiting is None and recorder.stepping is not None:
            recorder.end()
            self._waiting = recorder.stepping
            self._waiting.is_outside = True
        return waits_for


def _cause(raised: object) -> StepCause:
    return StepCause.CANCELLED if isinstance(raised, asyncio.CancelledError) else StepCause.WOKEN
