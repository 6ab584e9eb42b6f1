# SPDX-License-Identifier: Apache-2.0
"""The run that a record holds, made of its frames: how the scheduler was made, what was done to it, and what it decided."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from steersman.errors import InputError
from steersman.record.frames import DecisionBody, EndBody, Frame, FrameKind, RunBody
from steersman.record.reader import Problem, ProblemKind, RecordReader, snapshot_of

T = TypeVar("T")


class RecordedStep(msgspec.Struct, frozen=True):
    """A step of a simulation, as frames: see `steps.step_of`."""

    frame: Frame
    #: The objects that it gives.
    objects: tuple[Frame, ...]


class RecordedRun(msgspec.Struct, frozen=True):
    """The part of a record that can be replayed: from its beginning to its end, or to the first gap."""

    run: RunBody
    steps: tuple[RecordedStep, ...]
    decisions: tuple[DecisionBody, ...]
    #: So many decisions were made before the first one that is still there.
    decisions_before: int
    #: The time from which on the record is complete.
    since: float
    #: None: the record was not closed in good order, and may end too early.
    end: EndBody | None
    problems: tuple[Problem, ...]


class _Collected:
    """The parts of a run that have been read so far."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.run: RunBody | None = None
        self.steps: list[RecordedStep] = []
        self.objects: list[Frame] = []
        self.decisions: list[DecisionBody] = []
        self.before = 0
        self.since = 0.0
        self.end: EndBody | None = None

    def add(self, frame: Frame) -> None:
        if frame.kind == FrameKind.SNAPSHOT:
            self.before = snapshot_of(frame, self.directory).decisions
            self.since = frame.time
        elif frame.kind == FrameKind.RUN:
            self.run = body_of(frame, RunBody, self.directory)
        elif frame.kind == FrameKind.OBJECT:
            self.objects.append(frame)
        elif frame.kind == FrameKind.STEP:
            self.steps.append(RecordedStep(frame, tuple(self.objects)))
            self.objects.clear()
        elif frame.kind == FrameKind.DECISION:
            self.decisions.append(body_of(frame, DecisionBody, self.directory))
        elif frame.kind == FrameKind.END:
            self.end = body_of(frame, EndBody, self.directory)


def read_run(directory: str | os.PathLike[str]) -> RecordedRun:
    """The run in a record. Raises `InputError`."""
    reader = RecordReader(directory)
    collected = _Collected(reader.directory)
    following: int | None = None
    for frame in reader.frames():
        if _is_after_a_gap(reader.problems):
            break
        collected.add(frame)
        following = frame.number + 1
    if collected.run is None or not following:
        raise InputError("holds nothing that could be replayed", file=str(directory), hint=first_problem(reader))
    return RecordedRun(
        collected.run,
        tuple(collected.steps),
        tuple(collected.decisions),
        collected.before,
        collected.since,
        collected.end,
        tuple(reader.problems),
    )


def record_bounds(reader: RecordReader) -> tuple[RunBody, float, float]:
    """How the first scheduler of a record was made, and the times of its first and its last frame. Raises `InputError`."""
    run, begin, end = None, math.inf, -math.inf
    for frame in reader.frames():
        if frame.kind == FrameKind.RUN and run is None:
            run = body_of(frame, RunBody, reader.directory)
        begin, end = min(begin, frame.time), max(end, frame.time)
    if run is None:
        raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))
    return run, begin, end


def body_of(frame: Frame, cls: type[T], directory: Path) -> T:
    """The body of a frame. Raises `InputError`."""
    try:
        return msgspec.json.decode(frame.body, type=cls)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wrong = f"holds a frame that cannot be read: {error}"
        raise InputError(wrong, file=str(directory), object=f"frame {frame.number}") from error


def _is_after_a_gap(problems: list[Problem]) -> bool:
    return any(problem.kind is not ProblemKind.TORN_TAIL for problem in problems)


def first_problem(reader: RecordReader) -> str | None:
    """The first part of the record that was found missing or damaged, as a hint; None: none so far."""
    return str(reader.problems[0]) if reader.problems else None
