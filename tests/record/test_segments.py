# SPDX-License-Identifier: Apache-2.0
"""Frames on disk: what is read is what was written, whatever became of the files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples

from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.record import Limits, ProblemKind, RecordReader
from steersman.record.frames import DecisionBody, Frame, FrameKind, RunBody, SnapshotBody, encoded
from steersman.record.items import AT
from steersman.record.log import RecordLog
from steersman.record.reader import SNAPSHOT_SUBJECT
from steersman.record.recorder import Recorder, SnapshotContents
from steersman.record.segments import BlockBuilder, SegmentWriter, segment_files
from steersman.scheduler.diagnosis import Outcome

names = st.text("ab/-é", max_size=12)
frames = st.builds(
    lambda kind, time, subjects, body: Frame(kind, time, subjects, body),
    st.sampled_from([FrameKind.DECISION, FrameKind.OBJECT, FrameKind.WATCH_EVENT, 200]),
    st.floats(0, 2e9),
    st.lists(names, max_size=3).map(tuple),
    st.binary(max_size=80),
)
batches = st.lists(st.lists(frames, min_size=1, max_size=4), min_size=1, max_size=4)


def a_frame(number: int, *subjects: str, size: int = 0) -> Frame:
    body = f"{number}".encode() + os.urandom(size).hex().encode()
    return Frame(FrameKind.DECISION, 1000.0 + number, subjects, body)


def written(directory: Path, blocks: Sequence[Sequence[Frame]]) -> list[Frame]:
    """The frames as they ought to be read."""
    writer = SegmentWriter(directory, Limits())
    for frames_of_block in blocks:
        writer.write(frames_of_block)
    writer.close()
    flat = [frame for frames_of_block in blocks for frame in frames_of_block]
    return [frame._replace(number=number) for number, frame in enumerate(flat)]


def read(directory: Path, subject: str | None = None) -> tuple[list[Frame], list[ProblemKind]]:
    reader = RecordReader(directory)
    found = list(reader.frames(subject))
    return found, [problem.kind for problem in reader.problems]


@examples(20)
@given(batches)
def test_frames_are_read_as_they_were_written_and_found_by_name(blocks: list[list[Frame]]) -> None:
    with TemporaryDirectory() as name:
        expected = written(Path(name), blocks)
        assert read(Path(name)) == (expected, [])
        for subject in {subject for frame in expected for subject in frame.subjects}:
            assert read(Path(name), subject)[0] == [frame for frame in expected if subject in frame.subjects]


@examples(60)
@given(batches, st.data())
def test_a_file_that_is_cut_anywhere_gives_its_first_frames_and_says_so(
    blocks: list[list[Frame]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as name:
        expected = written(Path(name), blocks)
        (path,) = segment_files(Path(name))
        size = path.stat().st_size
        kept = data.draw(st.integers(0, size - 1))
        os.truncate(path, kept)
        found, problems = read(Path(name))
        assert found == expected[: len(found)]
        ends = {sum(map(len, blocks[:count])) for count in range(len(blocks) + 1)}
        assert len(found) in ends, "whole blocks are read"
        assert problems in ([], [ProblemKind.TORN_TAIL])
        if not problems:
            with path.open("ab") as file:
                file.write(b"\0" * 100)
            assert read(Path(name)) == (found, [ProblemKind.TORN_TAIL]), "it was cut between two blocks"


@examples(70)
@given(batches, st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=3), st.booleans())
def test_flipped_bits_are_noticed_and_no_frame_is_read_wrongly(
    blocks: list[list[Frame]], flips: list[tuple[int, int]], is_incremental: bool
) -> None:
    with TemporaryDirectory() as name:
        expected = written(Path(name), blocks)
        (path,) = segment_files(Path(name))
        content = bytearray(path.read_bytes())
        for position, bits in {position % len(content): bits for position, bits in flips}.items():
            content[position] ^= bits
        path.write_bytes(content)
        if is_incremental:
            (path.parent / "00000002.segment").write_bytes(b"")
        found, problems = read(Path(name))
        assert problems
        assert set(found) < set(expected)
        assert found == sorted(found, key=lambda frame: frame.number)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_no_frames(content: bytes) -> None:
    with TemporaryDirectory() as name:
        (Path(name) / "00000001.segment").write_bytes(content)
        assert read(Path(name)) == ([], [ProblemKind.TORN_TAIL])


@examples(12)
@given(batches, st.data())
def test_a_writer_cuts_a_torn_tail_and_goes_on_after_it(blocks: list[list[Frame]], data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        written(Path(name), blocks)
        (path,) = segment_files(Path(name))
        os.truncate(path, data.draw(st.integers(1, path.stat().st_size - 1)))
        before, problems = read(Path(name))
        writer = SegmentWriter(Path(name), Limits())
        assert (writer.cut is not None) == bool(problems)
        writer.write([a_frame(7)])
        writer.close()
        assert read(Path(name)) == ([*before, a_frame(7)._replace(number=len(before))], [])


def test_frames_are_found_by_time_without_unpacking_other_blocks(tmp_path: Path) -> None:
    written(tmp_path, [[a_frame(3 * block + index) for index in range(3)] for block in range(4)])
    (path,) = segment_files(tmp_path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    reader = RecordReader(tmp_path)
    assert decisions(list(reader.frames(since=1002, until=1004))) == [2, 3, 4]
    assert not reader.problems, "the last block was not looked into"


class DecisionRecorder(Recorder):
    """Notes one decision a second, with a message that cannot be compressed."""

    def __init__(self, directory: Path, limits: Limits | None = None) -> None:
        self._clock = ManualClock(1000.0)
        self.log = RecordLog(directory, limits or Limits(), waits_for_disk=True)
        super().__init__(self.log, RunBody("simulate", "1", "1", 0, 1000.0, {}), self._clock)
        self.log.start()

    def _snapshot_contents(self) -> SnapshotContents:
        return SnapshotContents(0, ())

    def append(self, count: int) -> None:
        for _ in range(count):
            if self.log.wants_attention:
                self._attend()
            self._parts += (AT, self._now())
            body = ("default/web", "uid", "default-scheduler", Outcome.UNSCHEDULABLE, self._now())
            self.note_decision(DecisionBody(*body, message=os.urandom(1000).hex()))
            self.end()
            self._clock.advance(1.0)

    def append_and_flush(self, count: int) -> None:
        self.append(count)
        self.log.flush()


def decisions(found: list[Frame]) -> list[float]:
    return [frame.time - 1000 for frame in found if frame.kind == FrameKind.DECISION]


def test_a_full_segment_is_followed_by_one_that_begins_with_a_snapshot(tmp_path: Path) -> None:
    recorder = DecisionRecorder(tmp_path, Limits(segment_bytes=5_000))
    for _ in range(10):
        recorder.append_and_flush(5)
    recorder.log.close()
    assert len(segment_files(tmp_path)) > 3
    found, problems = read(tmp_path)
    assert not problems
    assert decisions(found) == list(range(50))
    assert [frame.kind for frame in found].count(FrameKind.SNAPSHOT) == 1, "later ones repeat what is known"
    for path in segment_files(tmp_path)[:2]:
        path.unlink()
    first, *others = read(tmp_path)[0]
    assert first.kind == FrameKind.SNAPSHOT
    assert decisions(others)[0] == msgspec.json.decode(first.body, type=SnapshotBody).decisions > 0


def test_the_oldest_segments_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    recorder = DecisionRecorder(tmp_path, Limits(segment_bytes=5_000, total_bytes=20_000))
    for _ in range(30):
        recorder.append_and_flush(5)
    recorder.log.close()
    assert 5_000 < sum(path.stat().st_size for path in segment_files(tmp_path)) < 40_000
    found, problems = read(tmp_path)
    assert not problems
    kept = decisions(found)
    assert kept == list(range(int(kept[0]), 150))
    assert kept[0] > 0


def test_segments_go_when_they_are_too_old(tmp_path: Path) -> None:
    now = 5000.0
    writer = SegmentWriter(tmp_path, Limits(age_seconds=100), lambda: now)
    for index in range(3):
        writer.write([a_frame(index)])
        writer.rotate()
    for path, age in zip(segment_files(tmp_path), (101, 99, 1, 0), strict=True):
        os.utime(path, (now - age, now - age))
    writer.rotate()
    writer.close()
    assert [path.stem for path in segment_files(tmp_path)] == ["00000002", "00000003", "00000004", "00000005"]


def test_a_segment_that_is_missing_is_reported(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, Limits())
    for index in range(3):
        writer.write([a_frame(index)])
        writer.rotate()
    writer.close()
    segment_files(tmp_path)[1].unlink()
    found, problems = read(tmp_path)
    assert decisions(found) == [0, 2]
    assert problems == [ProblemKind.MISSING]


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.record.test_segments import DecisionRecorder
recorder = DecisionRecorder(Path(sys.argv[1]))
recorder.append_and_flush(1000)
recorder.append(4000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_flushed_survives_kill_9(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert killed.returncode == -9
    found, problems = read(tmp_path)
    assert decisions(found) == list(range(len(decisions(found))))
    assert len(decisions(found)) >= 1000
    assert problems in ([], [ProblemKind.TORN_TAIL])


def test_a_disk_that_is_full_ends_the_record_and_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = DecisionRecorder(tmp_path)

    def refuse(_: SegmentWriter) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(SegmentWriter, "sync", refuse)
    recorder.append(1)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        recorder.log.flush()
    recorder.append(1)
    recorder.log.close()
    with pytest.raises(InputError, match="No space left on device"):
        recorder.log.require_success()


def test_a_simulation_waits_for_a_disk_that_does_not_keep_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steersman.record.log.MAX_WAITING_BYTES", 100_000)
    monkeypatch.setattr("steersman.record.log.BLOCK_BYTES", 1)
    write = SegmentWriter.write_block

    def write_slowly(self: SegmentWriter, block: BlockBuilder) -> None:
        time.sleep(0.02)
        write(self, block)

    monkeypatch.setattr(SegmentWriter, "write_block", write_slowly)
    recorder = DecisionRecorder(tmp_path)
    recorder.append(5000)
    recorder.log.close()
    recorder.log.require_success()
    found, problems = read(tmp_path)
    assert not problems
    assert decisions(found) == list(range(5000)), "nothing is dropped"


def test_a_directory_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no record"):
        RecordReader(tmp_path)
    with pytest.raises(InputError, match="is not a directory"):
        RecordReader(tmp_path / "missing")


def test_a_record_of_a_later_format_is_refused(tmp_path: Path) -> None:
    written(tmp_path, [[encoded(FrameKind.SNAPSHOT, 0.0, SnapshotBody(0, format=6), [SNAPSHOT_SUBJECT])]])
    with pytest.raises(InputError, match=r"format: is of another format \(got 6\)"):
        read(tmp_path)
