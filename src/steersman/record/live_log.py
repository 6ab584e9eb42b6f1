# SPDX-License-Identifier: Apache-2.0
"""The log of a record of a live scheduler: nobody ever waits for it.

    scheduling loop ─ appends ─► noted parts ─► frames, blocks ─► thread ─► segments

The scheduling loop appends to a list, looks at one flag, and packs the list when some dozens of kilobytes have come together.
They are in the processor's cache then, and stay there for whatever comes next: what waits for the disk are a hundred bytes per
pod. The thread writes a block when a second has passed or much has come together, and syncs it; what the loop has left in its
list for so long it packs by itself. A disk that fails, or cannot keep up, ends the segment: what is noted meanwhile is dropped,
which is told and counted, and recording goes on, in a new segment with a new snapshot, when it can.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from steersman import api
from steersman.errors import InputError
from steersman.record.frames import Frame
from steersman.record.live_items import NotedParts, SegmentItem, object_frame
from steersman.record.segments import BlockBuilder, Limits, SegmentWriter

logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 0.7
"""A block is written when so long has passed since the last one: with the writing, less than a second."""
FRAME_PARTS: Final = 2048
FRAME_BYTES: Final = 1 << 17
"""The scheduling loop makes a frame of so many parts, or when their texts have so many bytes: they are in a cache still."""
BLOCK_BYTES: Final = 1 << 20
MOST_LEFT_BYTES: Final = 256 << 20
"""So much is kept for a disk that does not keep up."""
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


class LiveLog:
    """Writes the record in a directory, in a thread of its own. `next_parts` and `begin_segment` belong to the scheduling
    loop, and to whoever has the lock."""

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
        #: Who takes or replaces what was noted has this lock. The scheduling loop never waits for it.
        self.lock = threading.Lock()
        #: What the scheduling loop appends to, and what it has left behind.
        self._noted = NotedParts()
        self._block = BlockBuilder()
        self._left: deque[BlockBuilder | SegmentItem] = deque()
        self._left_bytes = 0
        #: Why something could not be packed; None: all could.
        self._broken: Exception | None = None
        #: Whether something was written since the last sync.
        self._is_unsynced = False
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
        self._pack()
        if self._block.raw_bytes >= BLOCK_BYTES:
            self._leave_block()
            self._wake.set()
        if self._left_bytes > MOST_LEFT_BYTES:
            self.is_paused = self.wants_attention = True
        self._noted = NotedParts()
        return self._noted

    def begin_segment(self, segment: SegmentItem) -> NotedParts:
        """The list in which is noted from now on, for a new segment."""
        self.wants_segment = self.is_paused = False
        self._pack()
        self._leave_block()
        self._left.append(segment)
        self._noted = NotedParts()
        return self._noted

    def _pack(self) -> None:
        """Packs what was noted. What cannot be packed interrupts the record, and nothing else."""
        try:
            frame = self._noted.frame()
            if frame is not None:
                self._block.add(frame)
        except Exception as error:
            self._broken = error
            self._wake.set()

    def _leave_block(self) -> None:
        """Leaves what was packed to the thread."""
        if len(self._block):
            self._left.append(self._block)
            self._left_bytes += self._block.raw_bytes
            self._block = BlockBuilder()

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
            self._wake.wait(max(0.0, self._written_at + WRITE_SECONDS - self._now()))
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
        is_due = is_closing or self._now() - self._written_at >= WRITE_SECONDS
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
        """Takes what was left behind; all: also what is packed, and what is complete in the list that the scheduling loop
        appends to."""
        with self.lock:
            if takes_all:
                self._pack()
                self._leave_block()
            if self._noted.taken:
                self.wants_attention = True  # so that what was taken does not stay in memory
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
            writer.next_number += 1  # by this a reader knows that something is missing
            self._is_interrupted = False
            self._observer.resumed()
        self._snapshot_end, self._began_at = 0, self._now()
        for block in _blocks(segment):
            self._snapshot_end = 0
            self._write(block)
            time.sleep(0)  # the scheduling loop has its turn

    # -- failures ------------------------------------------------------------------------------------------------------

    def _note_overflow(self) -> None:
        """Everything that had been noted is written: recording can go on, with a gap."""
        self._observer.failed(TOO_SLOW)
        self.wants_segment = self.wants_attention = True

    def _fail(self, reason: str) -> None:
        self.is_paused = self.wants_attention = self._is_interrupted = True
        self._written_at = self._now()
        writer, self._writer = self._writer, None
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


def _blocks(segment: SegmentItem) -> Iterator[BlockBuilder]:
    """The frames that a segment begins with, in blocks that a reader takes: objects may be large."""
    block = BlockBuilder()
    for part in segment.frames:
        block.add(object_frame(part, segment.time) if isinstance(part, api.Object) else part)
        if len(block) >= _OBJECTS_AT_ONCE or block.raw_bytes >= BLOCK_BYTES:
            yield block
            block = BlockBuilder()
    if len(block):
        yield block
