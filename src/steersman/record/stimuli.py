# SPDX-License-Identifier: Apache-2.0
"""Conversion of a record's frames to stimuli with their results (`RecordedStimulus`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from steersman.record.frames import (
    AnswerBody,
    BindingBody,
    CallEndBody,
    DecisionBody,
    Frame,
    FrameKind,
    NestedWatchEventBody,
    TaskStepBody,
    TickBody,
    WatchEventBody,
)
from steersman.record.recorded_run import body_of

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
