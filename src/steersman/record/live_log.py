# SPDX-License-Identifier: Apache-2.0
"""The log of a record of a live scheduler: nobody ever waits for it.

    scheduling loop ─ appends ─► noted parts ─► thread: frames, blocks ─► segments

The scheduling loop appends to a list, and looks at one flag. The thread makes frames of what it finds, writes a block when a
second has passed or much has come together, and syncs it. A disk that fails, or cannot keep up, ends the segment: what is noted
meanwhile is dropped, which is told and counted, and recording goes on, in a new segment with a new snapshot, when it can.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from steersman import api
from steersman.errors import InputError
from steersman.record.frames import Frame
from steersman.record.live_items import NotedParts, SegmentItem, object_frame, stimuli_frame
from steersman.record.score_digest import ScoreDigests
from steersman.record.segments import Limits, SegmentWriter

logger = logging.getLogger(__name__)

TURN_SECONDS: Final = 0.2
"""How often the thread looks for what was noted."""
WRITE_SECONDS: Final = 0.7
"""A block is written when so long has passed since the last one: with a turn, less than a second."""
BLOCK_BYTES: Final = 1 << 20
MOST_LEFT: Final = 256
"""So many lists, of a mebibyte of texts each, are kept for a disk that does not keep up."""
RETRY_SECONDS: Final = 30.0
"""After a failure the disk is tried again after so long."""
TOO_SLOW: Final = "the disk does not keep up"
_OBJECTS_AT_ONCE: Final = 500


class LogObserver(Protocol):
    """Told, by the thread, what becomes of the record."""

    def wrote(self, size: int) -> None:
        """So many bytes are on disk."""

    def failed(self, reason: str) -> None:
        """Nothing is recorded from now on."""

    def resumed(self) -> None:
        """Recording goes on."""


class _Batch:
    """Frames of stimuli that are written as one block."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.name_hashes: set[int] = set()
        #: The time of the last stimulus.
        self.until = -math.inf
        self.size = 0

    def add(self, noted: NotedParts, digests: ScoreDigests) -> bool:
        """Takes what is complete; False: nothing is."""
        parts = noted.take(digests)
        if not parts:
            return False
        frame, self.until = stimuli_frame(parts)
        self.frames.append(frame)
        self.size += len(frame.body)
        self.name_hashes |= noted.name_hashes()
        return True


class LiveLog:
    """Writes the record in a directory, in a thread of its own. `next_parts` and `begin_segment` belong to the scheduling
    loop."""

    def __init__(
        self, directory: Path, limits: Limits, observer: LogObserver, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises `InputError` if the directory cannot be written to."""
        self._directory = directory
        self._limits = limits
        self._observer = observer
        self._now = now
        try:
            self._writer: SegmentWriter | None = SegmentWriter(directory, limits)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(directory)) from error
        #: What a process before this one had not written to its end.
        self.cut = self._writer.cut
        #: The scheduling loop is to look here before the next stimulus: it is to note in another list, to begin a segment, or
        #: to note nothing.
        self.wants_attention = False
        #: The next stimulus is to begin a segment.
        self.wants_segment = False
        #: Nothing is noted. Set by either side; only the thread ends it.
        self.is_paused = False
        #: What the scheduling loop appends to, and what it has left behind.
        self._noted = NotedParts()
        self._left: deque[NotedParts | SegmentItem] = deque()
        self._batch = _Batch()
        self._digests = ScoreDigests()
        self._written_at = now()
        self._retry_at = 0.0
        #: After a failure: everything is dropped until a segment begins.
        self._is_interrupted = False
        self._snapshot_end = 0
        self._began_at = now()
        self._last: Frame | None = None
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="steersman-record", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # -- in the scheduling loop ----------------------------------------------------------------------------------------

    def next_parts(self) -> NotedParts:
        """The list in which is noted from now on. Pauses if too much waits already."""
        self._left.append(self._noted)
        if self._noted.text_bytes >= BLOCK_BYTES:
            self._wake.set()
        if len(self._left) > MOST_LEFT:
            self.is_paused = self.wants_attention = True
        self._noted = NotedParts()
        return self._noted

    def begin_segment(self, segment: SegmentItem) -> NotedParts:
        """The list in which is noted from now on, for a new segment."""
        self.wants_segment = self.is_paused = False
        self._left += (self._noted, segment)
        self._noted = NotedParts()
        return self._noted

    def close(self, last: Frame | None = None) -> None:
        """Writes what is left, and ends the thread."""
        if last is not None and not self.is_paused:
            self._last = last
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        is_closing = False
        while not is_closing:
            self._wake.wait(TURN_SECONDS)
            self._wake.clear()
            is_closing = self._closing.is_set()
            try:
                self._turn(is_closing)
            except OSError as error:
                self._fail(error.strerror or str(error))
            except Exception as error:
                logger.exception("recording broke")
                self._fail(f"{type(error).__name__}: {error}")

    def _turn(self, is_closing: bool) -> None:
        if self._writer is None:
            self._left.clear()
            self._noted.take(self._digests)
            self._try_again()
            return
        self._take_noted()
        if is_closing or self._now() - self._written_at >= WRITE_SECONDS:
            self._write(syncs=True)
            if is_closing:
                self._write_frames([] if self._last is None else [self._last], syncs=True)
                self._writer.close()
        if self.is_paused and not self._left and not self.wants_segment:
            self._note_overflow()

    def _take_noted(self) -> None:
        """Takes what was left behind, and what is complete of the list that the scheduling loop appends to. That one is asked
        for first: it may be left behind meanwhile, and must not be taken before those that were left before it."""
        noted, left = self._noted, self._left
        while left:
            item = left.popleft()
            if isinstance(item, SegmentItem):
                self._begin_segment(item)
            else:
                self._take_parts(item)
        self._take_parts(noted)
        if noted.taken:
            self.wants_attention = True  # so that what was taken does not stay in memory

    def _take_parts(self, noted: NotedParts) -> None:
        if self._is_interrupted:
            noted.take(self._digests)
            return
        while self._batch.add(noted, self._digests):
            if self._batch.size >= BLOCK_BYTES:
                self._write(syncs=False)

    def _write(self, *, syncs: bool) -> None:
        batch, self._batch = self._batch, _Batch()
        if batch.frames:
            self._write_frames(batch.frames, batch.name_hashes, batch.until, syncs=syncs)
        elif syncs:
            self._written_at = self._now()

    def _write_frames(
        self, frames: Sequence[Frame], hashes: Iterable[int] = (), until: float = -math.inf, *, syncs: bool
    ) -> None:
        writer = self._writer
        assert writer is not None
        before = writer.size
        writer.write(frames, hashes, until)
        if syncs:
            writer.sync()
            self._written_at = self._now()
        self._observer.wrote(writer.size - before)
        self._snapshot_end = self._snapshot_end or writer.size
        is_old = self._now() - self._began_at >= self._limits.segment_seconds
        if is_old or writer.size - self._snapshot_end >= self._limits.segment_bytes:
            self.wants_segment = self.wants_attention = True

    def _begin_segment(self, segment: SegmentItem) -> None:
        writer = self._writer
        assert writer is not None
        if writer.has_blocks or self._batch.frames:
            self._write(syncs=True)
            writer.rotate()
        if segment.is_after_gap or self._is_interrupted:
            writer.next_number += 1  # by this a reader knows that something is missing
            self._is_interrupted = False
            self._observer.resumed()
        self._snapshot_end, self._began_at = 0, self._now()
        for frames in _blocks(segment):
            self._snapshot_end = 0
            self._write_frames(frames, syncs=False)
            time.sleep(0)  # the scheduling loop has its turn

    # -- failures ------------------------------------------------------------------------------------------------------

    def _note_overflow(self) -> None:
        """Everything that had been noted is written: recording can go on, with a gap."""
        self._observer.failed(TOO_SLOW)
        self.wants_segment = self.wants_attention = True

    def _fail(self, reason: str) -> None:
        self.is_paused = self.wants_attention = self._is_interrupted = True
        writer, self._writer = self._writer, None
        self._batch = _Batch()
        self._retry_at = self._now() + RETRY_SECONDS
        if writer is not None:
            self._observer.failed(reason)
            writer.abandon()

    def _try_again(self) -> None:
        if self._now() < self._retry_at or self._closing.is_set():
            return
        self._retry_at = self._now() + RETRY_SECONDS
        try:
            self._writer = SegmentWriter(self._directory, self._limits)
        except OSError:
            return
        self.wants_segment = self.wants_attention = True


def _blocks(segment: SegmentItem) -> Iterator[list[Frame]]:
    """The frames that a segment begins with, in blocks that a reader takes: objects may be large."""
    frames: list[Frame] = []
    size = 0
    for part in segment.frames:
        frames.append(object_frame(part, segment.time) if isinstance(part, api.Object) else part)
        size += len(frames[-1].body)
        if len(frames) >= _OBJECTS_AT_ONCE or size >= BLOCK_BYTES:
            yield frames
            frames, size = [], 0
    if frames:
        yield frames
