# SPDX-License-Identifier: Apache-2.0
"""A simulation run read from a record: the scheduler's setup, the steps, and the decisions."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from steersman.base import InputError
from steersman.record.frames import DecisionBody, EndBody, Frame, FrameKind, RunBody
from steersman.record.reader import ProblemKind, RecordReader, snapshot_of

T = TypeVar("T")


class RecordedStep(msgspec.Struct, frozen=True):
    """A step of a simulation as frames (see `steps.step_of`)."""

    frame: Frame
    #: Frames of the objects that it adds.
    objects: tuple[Frame, ...]


MIN_UNCOMPRESSED_LIMIT: Final = 256 << 20
MAX_COMPRESSION_RATIO: Final = 500
"""Limit for `read_run` relative to the segments' size, but at least `MIN_UNCOMPRESSED_LIMIT`."""


class RecordedRun:
    """The replayable part of a simulation's record, up to its end or the first gap."""

    def __init__(self, run: RunBody, reader: RecordReader) -> None:
        self.run = run
        self.steps: list[RecordedStep] = []
        self.decisions: list[DecisionBody] = []
        #: Number of decisions before the first retained one.
        self.decisions_before = 0
        #: Time since which the record is complete.
        self.since = 0.0
        #: None if the record was not closed properly, and may be incomplete.
        self.end: EndBody | None = None
        #: The reader's problems; grows while frames are read.
        self.problems = reader.problems
        self._directory = reader.directory
        self._objects: list[Frame] = []
        size_on_disk = sum(file.stat().st_size for file in reader.files)
        self._bytes_left = max(MIN_UNCOMPRESSED_LIMIT, MAX_COMPRESSION_RATIO * size_on_disk)

    def add(self, frame: Frame) -> None:
        """Add the next frame. Raises `InputError`."""
        self._bytes_left -= len(frame.body)
        if self._bytes_left < 0:
            wrong = f"is more than {MAX_COMPRESSION_RATIO} times as large when it is decompressed"
            raise InputError(
                wrong, file=str(self._directory), object=f"frame {frame.number}", hint="no scheduler wrote this record"
            )
        if frame.kind == FrameKind.SNAPSHOT:
            self.decisions_before = snapshot_of(frame, self._directory).decisions
            self.since = frame.time
        elif frame.kind == FrameKind.OBJECT:
            self._objects.append(frame)
        elif frame.kind == FrameKind.STEP:
            self.steps.append(RecordedStep(frame, tuple(self._objects)))
            self._objects.clear()
        elif frame.kind == FrameKind.DECISION:
            self.decisions.append(body_of(frame, DecisionBody, self._directory))
        elif frame.kind == FrameKind.END:
            self.end = body_of(frame, EndBody, self._directory)


def read_run(directory: str | os.PathLike[str]) -> RecordedRun:
    """Return the run in the record of a simulation. Raises `InputError`."""
    reader = RecordReader(directory)
    run, _ = first_run(reader)
    recorded: RecordedRun | None = None
    for frame in reader.frames():
        if any(problem.kind is not ProblemKind.TORN_TAIL for problem in reader.problems):
            break
        recorded = recorded or RecordedRun(run, reader)
        recorded.add(frame)
    if recorded is None:
        raise InputError("holds nothing that could be replayed", file=str(directory), hint=first_problem(reader))
    return recorded


def first_run(reader: RecordReader) -> tuple[RunBody, float]:
    """Return the first scheduler's setup, and the start of the record. Raises `InputError`."""
    since = 0.0
    for frame in reader.all_frames():
        if frame.kind == FrameKind.SNAPSHOT:
            snapshot_of(frame, reader.directory)
            since = frame.time
        elif frame.kind == FrameKind.RUN:
            return body_of(frame, RunBody, reader.directory), since
    raise InputError("does not say how it began", file=str(reader.directory), hint=first_problem(reader))


def record_bounds(reader: RecordReader) -> tuple[RunBody, float, float]:
    """Return the first scheduler's setup, and the first and last time. Raises `InputError`."""
    run, _ = first_run(reader)
    begin, end = math.inf, -math.inf
    for frame in reader.frames():
        begin, end = min(begin, frame.time), max(end, frame.time)
    return run, begin, end


def body_of(frame: Frame, cls: type[T], directory: Path) -> T:
    """Return the decoded body of a frame. Raises `InputError`."""
    try:
        return msgspec.json.decode(frame.body, type=cls)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wrong = f"holds a frame that cannot be read: {error}"
        raise InputError(wrong, file=str(directory), object=f"frame {frame.number}") from error


def first_problem(reader: RecordReader) -> str | None:
    """Return a hint about the first problem found in the record, or None."""
    return str(reader.problems[0]) if reader.problems else None
