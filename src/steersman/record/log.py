# SPDX-License-Identifier: Apache-2.0
"""Background writer of a record. It never blocks a live scheduler; a simulation, on a full buffer.

    scheduling loop ─ appends ─► noted parts ─► frames, blocks ─► thread ─► segments

The scheduling loop appends to a list, checks one flag, and packs the list after some dozens of
kilobytes, while they are in the CPU cache; about a hundred bytes per pod wait for the disk. The
thread writes and syncs a block every second, or earlier if it is large; it also packs parts that
stayed in the loop's list for that long. A disk error ends the segment, and so does a disk that is
slower than a live scheduler: parts are then dropped, which is reported and counted, and recording
resumes later in a new segment with a new snapshot.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from steersman import api
from steersman.base import InputError
from steersman.record.frames import Frame
from steersman.record.items import NotedParts, SegmentItem, object_frame
from steersman.record.segments import BlockBuilder, Limits, SegmentWriter

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 0.7
"""Interval between blocks; less than a second to leave time for writing."""
BLOCK_BYTES: Final = 1 << 20
MAX_WAITING_BYTES: Final = 256 << 20
"""Limit of the data buffered for a slow disk."""
RETRY_SECONDS: Final = 30.0
"""Delay before the disk is retried after a failure."""
TOO_SLOW: Final = "the disk does not keep up"
_OBJECTS_PER_FRAME: Final = 500


class LogObserver:
    """Receiver of status changes of the record, called in the log's thread."""

    def wrote(self, size: int) -> None:
        """`size` bytes were written."""

    def failed(self, reason: str) -> None:
        """Recording is interrupted."""

    def resumed(self) -> None:
        """Recording has resumed."""


class RecordLog:
    """Writer of the record in a directory, with its own thread. `next_parts` and `begin_segment`
    are called by the scheduling loop, which holds the lock."""

    def __init__(
        self,
        directory: Path,
        limits: Limits,
        observer: LogObserver | None = None,
        *,
        waits_for_disk: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`waits_for_disk`: block on a slow disk (`wait_for_room`) instead of dropping parts.
        Raises `InputError` if the directory is not writable."""
        self._directory = directory
        self._limits = limits
        self._observer = observer or LogObserver()
        self._waits_for_disk = waits_for_disk
        self._now = now
        try:
            self._writer: SegmentWriter | None = SegmentWriter(directory, limits)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(directory)) from error
        #: The incomplete end of an earlier process's record, if one was removed.
        self.cut = self._writer.cut
        #: Asks the scheduling loop to call in before the next stimulus: to switch to another list,
        #: to begin a segment, or to stop recording.
        self.wants_attention = False
        #: Asks for a new segment before the next stimulus.
        self.wants_segment = False
        #: Whether recording is paused. Set by either thread; reset by `begin_segment`.
        self.is_paused = False
        #: Protects taking and replacing noted parts. The scheduling loop never blocks on it.
        self.lock = threading.Lock()
        #: The scheduling loop's list, the block being packed, and the thread's input.
        self._noted = NotedParts()
        self._block = BlockBuilder()
        self._left: deque[BlockBuilder | SegmentItem] = deque()
        self._left_bytes = 0
        #: Cleared while the loop must wait for the thread.
        self._has_room = threading.Event()
        self._has_room.set()
        #: Events to set after all earlier parts have been written, or writing them has failed.
        self._flushes: list[threading.Event] = []
        #: Reason for the record's first gap, or "".
        self.failure = ""
        #: Exception raised when parts were packed, until the thread handles it.
        self._broken: Exception | None = None
        #: Whether there are writes since the last sync.
        self._is_unsynced = False
        self._written_at = now()
        self._retry_at = 0.0
        #: Whether, after a failure, blocks are dropped until a segment begins.
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
        """Return a new list for the scheduling loop. Pauses recording if the buffer is full."""
        self._pack()
        if self._block.raw_bytes >= BLOCK_BYTES:
            self._leave_block()
            self._wake.set()
        if self._left_bytes > MAX_WAITING_BYTES and self._waits_for_disk:
            self._has_room.clear()
            self._wake.set()
        elif self._left_bytes > MAX_WAITING_BYTES:
            self.is_paused = self.wants_attention = True
        self._noted = NotedParts()
        return self._noted

    def begin_segment(self, segment: SegmentItem) -> NotedParts:
        """Begin a segment and return a new list for the scheduling loop."""
        self.wants_segment = self.is_paused = False
        self._pack()
        self._leave_block()
        self._left.append(segment)
        self._noted = NotedParts()
        return self._noted

    def _pack(self) -> None:
        """Pack the noted parts. An exception interrupts the record, but not the caller."""
        try:
            frame = self._noted.frame()
            if frame is not None:
                self._block.add(frame)
        except Exception as error:
            self._broken = error
            self._wake.set()

    def _leave_block(self) -> None:
        """Pass the packed block to the thread."""
        if len(self._block):
            self._left.append(self._block)
            self._left_bytes += self._block.raw_bytes
            self._block = BlockBuilder()

    def wait_for_room(self) -> None:
        """Wait for a slow disk. The caller must not hold the lock."""
        self._has_room.wait()

    def flush(self) -> None:
        """Wait until all noted parts are on disk. Raises `InputError` if they cannot be written."""
        flushed = threading.Event()
        with self.lock:
            self._flushes.append(flushed)
        self._wake.set()
        if self._thread.is_alive():
            flushed.wait()
        self.require_success()

    def close(self, last: Frame | None = None) -> None:
        """Write the remaining parts and `last`, and end the thread."""
        if last is not None and not self.is_paused:
            self._last = last
        self._closing.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def require_success(self) -> None:
        """Raise `InputError` if the record has a gap because it could not be written."""
        if self.failure:
            raise InputError(f"cannot be written: {self.failure}", file=str(self._directory))

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        is_closing = False
        while not is_closing:
            self._wake.wait(max(0.0, self._written_at + WRITE_SECONDS - self._now()))
            self._wake.clear()
            is_closing = self._closing.is_set()
            with self.lock:
                flushes, self._flushes = self._flushes, []
            try:
                self._turn(is_closing, must_write=bool(flushes))
            except OSError as error:
                self._fail(error.strerror or str(error))
            except Exception as error:
                logger.exception("recording broke")
                self._fail(f"{type(error).__name__}: {error}")
            for waiting in (self._has_room, *flushes):
                waiting.set()

    def _turn(self, is_closing: bool, must_write: bool) -> None:
        is_due = is_closing or must_write or self._now() - self._written_at >= WRITE_SECONDS
        left = self._take_left(takes_all=is_due)
        broken, self._broken = self._broken, None
        if broken is not None:
            raise broken
        if self._writer is None:
            self._written_at = self._now()
            self._try_again()
            return
        for item in left:
            if isinstance(item, SegmentItem):
                self._begin_segment(item)
            elif not self._is_interrupted:
                self._write(item)
        if is_due:
            if is_closing and self._last is not None:
                last = BlockBuilder()
                last.add(self._last)
                self._write(last)
            if self._is_unsynced:
                self._writer.sync()
            self._is_unsynced, self._written_at = False, self._now()
            if is_closing:
                self._writer.close()
        if self.is_paused and not self._left and not self.wants_segment:
            self._note_overflow()

    def _take_left(self, *, takes_all: bool) -> Sequence[BlockBuilder | SegmentItem]:
        """Take the blocks and segments queued for the thread; with `takes_all`, also the block
        being packed and the complete stimuli in the scheduling loop's list."""
        with self.lock:
            if takes_all:
                self._pack()
                self._leave_block()
            if self._noted.taken:
                self.wants_attention = True  # to free the taken parts
            left, self._left, self._left_bytes = self._left, deque(), 0
        return left

    def _write(self, block: BlockBuilder) -> None:
        writer = self._writer
        assert writer is not None
        before = writer.size
        writer.write_block(block)
        self._is_unsynced = True
        self._observer.wrote(writer.size - before)
        self._snapshot_end = self._snapshot_end or writer.size
        is_old = self._now() - self._began_at >= self._limits.segment_seconds
        if is_old or writer.size - self._snapshot_end >= self._limits.segment_bytes:
            self.wants_segment = self.wants_attention = True

    def _begin_segment(self, segment: SegmentItem) -> None:
        writer = self._writer
        assert writer is not None
        if writer.has_blocks:
            writer.rotate()
        if segment.is_after_gap or self._is_interrupted:
            writer.next_number += 1  # marks the gap for readers
            self._is_interrupted = False
            self._observer.resumed()
        self._snapshot_end, self._began_at = 0, self._now()
        for block in _blocks(segment):
            self._snapshot_end = 0
            self._write(block)
            time.sleep(0)  # yield to the scheduling loop

    # -- failures ------------------------------------------------------------------------------------------------------

    def _note_overflow(self) -> None:
        """Report the overflow and request a segment, as the queue is empty again."""
        self._observer.failed(TOO_SLOW)
        self.wants_segment = self.wants_attention = True

    def _fail(self, reason: str) -> None:
        self.is_paused = self.wants_attention = self._is_interrupted = True
        self._written_at = self._now()
        writer, self._writer = self._writer, None
        self._retry_at = self._now() + RETRY_SECONDS
        self.failure = self.failure or reason
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


def _blocks(segment: SegmentItem) -> Iterator[BlockBuilder]:
    """Yield a segment's first frames in blocks within the reader's limits."""
    block = BlockBuilder()
    for part in segment.frames:
        block.add(object_frame(part, segment.time) if isinstance(part, api.Object) else part)
        if len(block) >= _OBJECTS_PER_FRAME or block.raw_bytes >= BLOCK_BYTES:
            yield block
            block = BlockBuilder()
    if len(block):
        yield block
