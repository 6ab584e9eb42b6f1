# SPDX-License-Identifier: Apache-2.0
"""What a live scheduler notes for its record, and the frames that become of it.

The scheduling loop only puts small tuples and references into a queue; a thread of `live_log` makes frames of them here. What
belongs to one stimulus comes in a row:

    stimulus, then readings of the clock, decisions, bindings and answers as they come, then `END`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from steersman import api
from steersman.api import codec
from steersman.assembly.stimuli import Stimulus
from steersman.record.decisions import decision_frame
from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    DecisionBody,
    Frame,
    FrameKind,
    StepCause,
    WatchedChange,
    encoded,
)
from steersman.record.steps import subject_of


class WatchedItem(NamedTuple):
    time: float
    change: WatchedChange
    object: api.Object
    #: As the API server wrote it; None: not known, the object is written as it was understood.
    text: msgspec.Raw | None


class ExpectedItem(NamedTuple):
    time: float
    kind: type[api.Object]
    objects: int


class TickItem(NamedTuple):
    time: float
    what: Stimulus
    task: int


class StepItem(NamedTuple):
    time: float
    task: int
    cause: StepCause


class SegmentItem(NamedTuple):
    """A new segment begins with these: frames, or objects that have yet to be written as such."""

    time: float
    frames: Sequence[Frame | api.Object]
    #: Frames before it are missing.
    is_after_gap: bool


END: Final = None
StimulusItem: TypeAlias = WatchedItem | ExpectedItem | TickItem | StepItem
NotedItem: TypeAlias = StimulusItem | float | DecisionBody | BindingBody | AnswerBody | None


class StimulusFrames:
    """Makes frames of items, one stimulus after the other."""

    def __init__(self) -> None:
        self._stimulus: StimulusItem | None = None
        self._clock: list[float] = []
        self._results: list[DecisionBody | BindingBody | AnswerBody] = []

    def frames_after(self, item: NotedItem) -> Sequence[Frame]:
        """The frames that are complete with this item."""
        if item is END:
            return self._complete()
        if isinstance(item, float):
            self._clock.append(item)
        elif isinstance(item, WatchedItem | ExpectedItem | TickItem | StepItem):
            self._stimulus = item
        else:
            self._results.append(item)
        return ()

    def discard(self) -> None:
        """The rest of the present stimulus will not come."""
        self._stimulus = None
        self._clock.clear()
        self._results.clear()

    def _complete(self) -> Sequence[Frame]:
        stimulus, clock = self._stimulus, self._clock
        if stimulus is None:
            return ()
        frames = [_stimulus_frame(stimulus, clock)]
        for result in self._results:
            if isinstance(result, AnswerBody):
                frames.append(encoded(FrameKind.ANSWER, stimulus.time, result))
            else:
                frames.append(decision_frame(result, stimulus.time))
        self.discard()
        return frames


def object_frame(obj: api.Object, time: float) -> Frame:
    """An object of a snapshot."""
    return Frame(FrameKind.OBJECT, time, (subject_of(obj),), codec.encode(obj))


def kind_text(kind: type[api.Object]) -> str:
    """How a record names a kind: `v1/Pod`, `apps/v1/ReplicaSet`."""
    return f"{kind.API_VERSION}/{kind.KIND}"


def _stimulus_frame(item: StimulusItem, clock: Sequence[float]) -> Frame:
    """Bodies are put together as text: this is done for every event of the cluster, and their parts need no escapes."""
    read = f'"clock":{list(clock)!r},' if clock else ""
    if isinstance(item, WatchedItem):
        text = codec.encode(item.object) if item.text is None else bytes(item.text)
        head = f'{{"type":"{item.change}","kind":"{kind_text(type(item.object))}",{read}"object":'
        body = b"".join((head.encode(), text, b"}"))
        return Frame(FrameKind.WATCH_EVENT, item.time, (subject_of(item.object),), body)
    if isinstance(item, StepItem):
        cause = "" if item.cause is StepCause.WOKEN else f'"cause":"{item.cause}",'
        return Frame(FrameKind.TASK_STEP, item.time, (), f'{{{read}{cause}"task":{item.task}}}'.encode())
    if isinstance(item, TickItem):
        task = f'"task":{item.task},' if item.task else ""
        return Frame(FrameKind.TICK, item.time, (), f'{{{read}{task}"what":"{item.what}"}}'.encode())
    expected = f'{{"type":"{WatchedChange.EXPECTED}","kind":"{kind_text(item.kind)}",{read}"object":{item.objects}}}'
    return Frame(FrameKind.WATCH_EVENT, item.time, (), expected.encode())
