# SPDX-License-Identifier: Apache-2.0
"""Reads a record: all frames, or those about one object, whatever has become of the files since.

What cannot be read is passed over and told (`Problem`); a frame that is given is as it was written.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from steersman.errors import InputError
from steersman.record.frames import READ_FORMATS, Frame, FrameError, FrameKind, SnapshotBody
from steersman.record.given_objects import expanded_objects
from steersman.record.live_items import expanded
from steersman.record.placed import expanded_replicas
from steersman.record.segments import BlockHead, Damage, read_frames, read_head, read_header, segment_files


class ProblemKind(StrEnum):
    TORN_TAIL = "torn tail"
    """The last segment was not written to its end: the process was killed. The last second is missing at most."""
    DAMAGED = "damaged"
    """Something in the middle of the record cannot be read."""
    MISSING = "missing"
    """Frames are missing between others."""


class Problem(msgspec.Struct, frozen=True, rename="camel"):
    """Something of a record that is not there any more."""

    kind: ProblemKind
    file: str
    #: In the file; 0 for a file as a whole.
    offset: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}, byte {self.offset}: {self.message}"


class _Wanted(NamedTuple):
    """Which frames are wanted."""

    #: None: about any object.
    subject: str | None
    since: float
    until: float

    def may_be_in(self, head: BlockHead) -> bool:
        """Whether a frame of the block may be wanted, by its index."""
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
            wrong = "holds no record" if is_directory else "is no directory"
            raise InputError(wrong, file=str(directory), hint="steersman simulate --record DIR writes one")
        #: What was found to be missing, of the frames that were read last.
        self.problems: list[Problem] = []

    def frames(self, subject: str | None = None, since: float = -math.inf, until: float = math.inf) -> Iterator[Frame]:
        """All frames in order, or those about one object, or of a time (both ends included); the frames of snapshots only
        where the record begins, because they repeat what came before. `problems` is known when the last one was given.
        Raises `InputError`."""
        repeated = 0
        is_first = True
        for frame in self._wanted(_Wanted(subject, since, until)):
            if is_first and frame.kind == FrameKind.SNAPSHOT:
                snapshot_of(frame, self.directory)
            elif frame.kind == FrameKind.SNAPSHOT:
                repeated = frame.number + snapshot_of(frame, self.directory).frames
            is_first = False
            if (frame.number > repeated or not repeated) and since <= frame.time <= until:
                yield frame

    def all_frames(self) -> Iterator[Frame]:
        """All frames in order, those of snapshots as well. `problems` grows while they are read."""
        return self._wanted(_Wanted(None, -math.inf, math.inf))

    def _wanted(self, wanted: _Wanted) -> Iterator[Frame]:
        """The frames that are wanted, and all snapshots."""
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
        except Damage as damage:
            self._note(path, damage, is_tail=is_last)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error

    def _frames(self, path: Path, file: BinaryIO, head: BlockHead, wanted: _Wanted, is_last: bool) -> Iterator[Frame]:
        if not wanted.may_be_in(head) and not head.may_name(SNAPSHOT_SUBJECT):
            return
        try:
            frames = [each for frame in read_frames(file, head) for each in _single_frames(frame)]
        except (Damage, FrameError) as problem:
            damage = problem if isinstance(problem, Damage) else Damage(str(problem), head.offset, head.end)
            is_tail = is_last and head.end >= path.stat().st_size
            self._note(path, damage, is_tail=is_tail)
            return
        for frame in frames:
            if wanted.is_met_by(frame) or frame.kind == FrameKind.SNAPSHOT:
                yield frame

    def _note(self, path: Path, damage: Damage, *, is_tail: bool) -> None:
        kind = ProblemKind.TORN_TAIL if is_tail else ProblemKind.DAMAGED
        message = f"{damage.message}: the last second is missing at most" if is_tail else damage.message
        self.problems.append(Problem(kind, str(path), damage.offset, message))

    def _miss(self, path: Path, head: BlockHead, following: int) -> None:
        message = f"frames {following} to {head.first_number - 1} are missing"
        if head.first_number < following:
            message = f"frame {head.first_number} comes again: the segments are of several records"
        self.problems.append(Problem(ProblemKind.MISSING, str(path), head.offset, message))


_EXPANDERS: Final[dict[int, Callable[[Frame], Iterable[Frame]]]] = {
    FrameKind.STIMULI: expanded,
    FrameKind.PLACED: expanded_replicas,
    FrameKind.OBJECTS: expanded_objects,
}
"""Frames of many things, which are read as frames of each."""


def _single_frames(frame: Frame) -> Iterable[Frame]:
    expand = _EXPANDERS.get(frame.kind)
    return (frame,) if expand is None else expand(frame)


SNAPSHOT_SUBJECT = "snapshot"
"""The name by which snapshots are found."""


def snapshot_of(frame: Frame, directory: Path) -> SnapshotBody:
    """The body of a snapshot. Raises `InputError` for one of a later format."""
    try:
        body = msgspec.json.decode(frame.body, type=SnapshotBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"holds a snapshot that cannot be read: {error}", file=str(directory)) from error
    if body.format not in READ_FORMATS:
        hint = f"this version of Steersman reads the formats {', '.join(map(str, READ_FORMATS))}"
        raise InputError("is of another format", file=str(directory), field="format", value=body.format, hint=hint)
    return body
