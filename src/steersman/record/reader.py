# SPDX-License-Identifier: Apache-2.0
"""Reader of all frames of a record, or those of one object, even from damaged files.

Unreadable parts are skipped and reported (`Problem`); every returned frame is intact.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from steersman.base import InputError
from steersman.record.expansion import expanded
from steersman.record.frames import READ_FORMATS, Frame, FrameError, FrameKind, SnapshotBody
from steersman.record.segments import BlockHead, DamagedSegment, read_frames, read_head, read_header, segment_files


class ProblemKind(StrEnum):
    TORN_TAIL = "torn tail"
    """Incomplete last segment: the process was killed. At most the last second is missing."""
    DAMAGED = "damaged"
    """A part in the middle of the record is unreadable."""
    MISSING = "missing"
    """Frames are missing between others."""


class Problem(msgspec.Struct, frozen=True, rename="camel"):
    """A missing or unreadable part of a record."""

    kind: ProblemKind
    file: str
    #: Offset in the file; 0 for the whole file.
    offset: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}, byte {self.offset}: {self.message}"


class _Wanted(NamedTuple):
    """Filter for frames."""

    #: None for any object.
    subject: str | None
    since: float
    until: float

    def may_be_in(self, head: BlockHead) -> bool:
        """Return whether, by its index, the block may contain a matching frame."""
        is_in_time = head.last_time >= self.since and head.first_time <= self.until
        return is_in_time and (self.subject is None or head.may_name(self.subject))

    def is_met_by(self, frame: Frame) -> bool:
        return self.since <= frame.time <= self.until and (self.subject is None or self.subject in frame.subjects)


class RecordReader:
    """The record in a directory. Raises `InputError` if there is none."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        try:
            self.files = segment_files(self.directory)
            is_directory = self.directory.is_dir()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(directory)) from error
        if not self.files:
            wrong = "holds no record" if is_directory else "is not a directory"
            raise InputError(wrong, file=str(directory), hint="steersman simulate --record DIR writes one")
        #: Problems found by the last iteration.
        self.problems: list[Problem] = []

    def frames(
        self,
        subject: str | None = None,
        since: float = -math.inf,
        until: float = math.inf,
        *,
        after_gaps: bool = False,
    ) -> Iterator[Frame]:
        """Yield the frames in order, optionally of one object or a time range (inclusive). Repeated
        state is skipped: snapshots except the first and, with `after_gaps`, those after a gap.
        `problems` is complete after the last frame. Raises `InputError`."""
        repeated = 0
        is_first = True
        for frame in self._wanted(_Wanted(subject, since, until)):
            if is_first and frame.kind == FrameKind.SNAPSHOT:
                snapshot_of(frame, self.directory)
            elif frame.kind == FrameKind.SNAPSHOT:
                snapshot = snapshot_of(frame, self.directory)
                repeated = 0 if after_gaps and snapshot.gap else frame.number + snapshot.frames
            is_first = False
            if (frame.number > repeated or not repeated) and since <= frame.time <= until:
                yield frame

    def all_frames(self) -> Iterator[Frame]:
        """Yield all frames in order, including snapshots. `problems` grows during the iteration."""
        return self._wanted(_Wanted(None, -math.inf, math.inf))

    def _wanted(self, wanted: _Wanted) -> Iterator[Frame]:
        """Yield the matching frames and all snapshots."""
        self.problems = []
        following: int | None = None
        for path in self.files:
            is_last = path == self.files[-1]
            for file, head in self._heads(path, is_last):
                if following is not None and head.first_number != following:
                    self._miss(path, head, following)
                following = head.first_number + head.frames
                yield from self._frames(path, file, head, wanted, is_last)

    def _heads(self, path: Path, is_last: bool) -> Iterator[tuple[BinaryIO, BlockHead]]:
        try:
            with path.open("rb") as file:
                read_header(file)
                offset = file.tell()
                while (head := read_head(file, offset)) is not None:
                    yield file, head
                    offset = head.end
        except DamagedSegment as damage:
            self._note(path, damage, is_tail=is_last)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error

    def _frames(self, path: Path, file: BinaryIO, head: BlockHead, wanted: _Wanted, is_last: bool) -> Iterator[Frame]:
        if not wanted.may_be_in(head) and not head.may_name(SNAPSHOT_SUBJECT):
            return
        try:
            frames = [each for frame in read_frames(file, head) for each in expanded(frame)]
        except (DamagedSegment, FrameError) as problem:
            damage = (
                problem if isinstance(problem, DamagedSegment) else DamagedSegment(str(problem), head.offset, head.end)
            )
            is_tail = is_last and head.end >= path.stat().st_size
            self._note(path, damage, is_tail=is_tail)
            return
        for frame in frames:
            if wanted.is_met_by(frame) or frame.kind == FrameKind.SNAPSHOT:
                yield frame

    def _note(self, path: Path, damage: DamagedSegment, *, is_tail: bool) -> None:
        kind = ProblemKind.TORN_TAIL if is_tail else ProblemKind.DAMAGED
        message = f"{damage.message}: the last second is missing at most" if is_tail else damage.message
        self.problems.append(Problem(kind, str(path), damage.offset, message))

    def _miss(self, path: Path, head: BlockHead, following: int) -> None:
        message = f"frames {following} to {head.first_number - 1} are missing"
        if head.first_number < following:
            message = f"frame {head.first_number} comes again: the segments are of several records"
        self.problems.append(Problem(ProblemKind.MISSING, str(path), head.offset, message))


SNAPSHOT_SUBJECT = "snapshot"
"""The name under which snapshots are indexed."""


def snapshot_of(frame: Frame, directory: Path) -> SnapshotBody:
    """Return the body of a snapshot. Raises `InputError` for an unsupported format."""
    try:
        body = msgspec.json.decode(frame.body, type=SnapshotBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"holds a snapshot that cannot be read: {error}", file=str(directory)) from error
    if body.format not in READ_FORMATS:
        hint = f"this version of Steersman reads the formats {', '.join(map(str, READ_FORMATS))}"
        raise InputError("is of another format", file=str(directory), field="format", value=body.format, hint=hint)
    return body
