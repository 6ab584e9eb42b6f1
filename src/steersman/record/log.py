# SPDX-License-Identifier: Apache-2.0
"""The log of a record, as those who record see it: `append` only puts frames into a buffer, and a thread writes them.

The thread writes a block when a second has passed or much has come together, and has the system write it to disk at most once a
second: when the process is killed, the last second is lost at most. When a segment is full, the next `append` begins another
one, with a snapshot that its caller gives: so a record can be read from any of its segments on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from steersman.errors import InputError
from steersman.record.frames import Frame
from steersman.record.segments import Cut, Limits, SegmentWriter

FLUSH_SECONDS: Final = 1.0
BLOCK_BYTES: Final = 1 << 20
"""So much is written before the second has passed."""
MOST_BUFFERED_BYTES: Final = 64 << 20
"""Who appends faster than the disk takes it waits here, and the memory is bounded."""
_FRAME_BYTES: Final = 64
"""About so many bytes a frame takes beside its body."""


class _Batch:
    """Frames that go into the same segment, oldest first."""

    def __init__(self, begins_segment: bool = False) -> None:
        self.begins_segment = begins_segment
        self.frames: list[Frame] = []


class RecordLog:
    """The log of one record: takes frames at once, and has a thread write them into segments. `snapshot` gives the frames that
    a segment begins with; it is asked in the thread that appends."""

    def __init__(self, directory: Path, snapshot: Callable[[], Sequence[Frame]], limits: Limits | None = None) -> None:
        self._directory = directory
        self._snapshot = snapshot
        self._limits = limits or Limits()
        try:
            self._writer = SegmentWriter(directory, self._limits)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(directory)) from error
        #: What a writer before this one had not written to its end.
        self.cut: Cut | None = self._writer.cut
        #: Why nothing is written any more; None: all is well.
        self.failure: Exception | None = None
        self._changed = threading.Condition()
        self._batches = [_Batch()]
        self._buffered = 0
        #: How often a flush was asked for, and how many of these have been carried out.
        self._asked = self._done = 0
        self._closing = False
        self._is_full = False
        #: The size of the segment without what was recorded since its snapshot.
        self._snapshot_end = 0
        self.append(snapshot())
        self._thread = threading.Thread(target=self._work, name="steersman-record", daemon=True)
        self._thread.start()

    def append(self, frames: Sequence[Frame]) -> None:
        """Notes frames that belong together: they get into one segment. Does not wait, unless far too much is waiting."""
        if self.failure is not None:
            return
        snapshot = self._snapshot() if self._is_full else ()
        with self._changed:
            if snapshot:
                self._is_full = False
                self._batches.append(_Batch(begins_segment=True))
            self._batches[-1].frames += (*snapshot, *frames)
            self._buffered += sum(len(frame.body) + _FRAME_BYTES for frame in (*snapshot, *frames))
            if self._buffered >= BLOCK_BYTES:
                self._changed.notify_all()
            while self._buffered >= MOST_BUFFERED_BYTES and self.failure is None:
                self._changed.wait()

    def flush(self) -> None:
        """Waits until everything that was appended is on disk. Raises `InputError` if it cannot be written."""
        with self._changed:
            self._asked += 1
            wanted = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._done >= wanted or self.failure is not None)
        self._require_success()

    def close(self) -> None:
        """Writes what is left. Raises `InputError` if something could not be written."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._require_success()

    def _require_success(self) -> None:
        if self.failure is not None:
            reason = self.failure.strerror if isinstance(self.failure, OSError) else str(self.failure)
            raise InputError(f"cannot be written: {reason}", file=str(self._directory)) from self.failure

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            try:
                self._write_until_closed()
            finally:
                self._writer.close()
        except Exception as error:  # who appends must not wait for ever
            with self._changed:
                self.failure = error
                self._changed.notify_all()

    def _write_until_closed(self) -> None:
        synced, is_closing = time.monotonic(), False
        while not is_closing:
            with self._changed:
                self._changed.wait_for(self._is_due, FLUSH_SECONDS)
                batches, self._batches = self._batches, [_Batch()]
                self._buffered, asked, is_closing = 0, self._asked, self._closing
                self._changed.notify_all()
            for batch in batches:
                self._write(batch)
            if asked > self._done or time.monotonic() - synced >= FLUSH_SECONDS:
                self._writer.sync()
                synced = time.monotonic()
            with self._changed:
                self._done = asked
                self._changed.notify_all()

    def _is_due(self) -> bool:
        return self._closing or self._asked > self._done or self._buffered >= BLOCK_BYTES

    def _write(self, batch: _Batch) -> None:
        if batch.begins_segment:
            self._writer.rotate()
            self._snapshot_end = 0
        self._write_blocks(batch.frames)
        self._snapshot_end = self._snapshot_end or self._writer.size
        if self._writer.size - self._snapshot_end >= self._limits.segment_bytes:
            self._is_full = True

    def _write_blocks(self, frames: Sequence[Frame]) -> None:
        begin, size = 0, 0
        for index, frame in enumerate(frames):
            size += len(frame.body) + _FRAME_BYTES
            if size >= BLOCK_BYTES:
                self._writer.write(frames[begin : index + 1])
                begin, size = index + 1, 0
        self._writer.write(frames[begin:])
