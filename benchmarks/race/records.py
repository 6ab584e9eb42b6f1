# SPDX-License-Identifier: Apache-2.0
"""What a race leaves on disk where Steersman records it."""

from __future__ import annotations

from pathlib import Path

from steersman.record import RecordReader
from steersman.record.frames import FrameKind


def recorded_bytes(directory: Path) -> str:
    """The size of a record, for each of its decisions, and what of it came before the first one: the lists at the start."""
    reader = RecordReader(directory)
    total = sum(path.stat().st_size for path in reader.files)
    decisions = at_start = seen = 0
    for frame in reader.all_frames():
        seen += len(frame.body)
        if frame.kind == FrameKind.DECISION:
            decisions += 1
            at_start = at_start or seen
    return (
        f"{decisions} decisions, {total:,} bytes on disk, {total / max(decisions, 1):.0f} per decision; "
        f"{seen:,} bytes before compression, of which {at_start:,} came before the first decision"
    )
