# SPDX-License-Identifier: Apache-2.0
"""Segments: the files of a record. Frames are appended in compressed blocks with checksums.

    segment  = header block*                    00000001.segment, 00000002.segment, …
    header   = magic, number, checksum
    block    = head, checksum of head and index, index, payload
    head     = marker, lengths, number of frames, number of the first one, first and last time, checksum of the payload
    index    = sorted hashes of the names that the frames are about
    payload  = the frames, compressed with Zstandard

A block is the unit of writing; checksums detect blocks that are incomplete or damaged, which are
never read. Head and index suffice to find frames by time and name without decompressing other
blocks. `log` writes in its own thread; `reader` reads.
"""

from __future__ import annotations

import math
import os
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

import msgspec

from steersman.base import InputError
from steersman.record.frames import MAX_BODY_BYTES, Frame, FrameError, packed_head, unpacked

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SUFFIX: Final = ".segment"
MAGIC: Final = b"STEERSM\x01"
MARKER: Final = b"BLK1"
_COMPRESSION: Final[dict[int, int]] = {
    zstd.CompressionParameter.compression_level: 1,
    zstd.CompressionParameter.window_log: 18,
    zstd.CompressionParameter.hash_log: 12,
}
"""The small window and table fit into the CPU cache beside the scheduler's data, without a worse
ratio, because similar objects are close together."""
_COMPRESSED_BYTES_PER_TURN: Final = 1 << 16
MAX_BLOCK_BYTES: Final = MAX_BODY_BYTES + (64 << 20)
"""Limit of a block's uncompressed size and of each of its parts, which bounds a reader's memory."""
MAX_BLOCK_FRAMES: Final = 1 << 16
"""Writers use far fewer frames per block; a decoded frame takes more memory than its bytes."""

_CHECKSUM: Final = 8
_PRIVATE_DIRECTORY: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_HEADER: Final = struct.Struct("<8sQ")
_HEAD: Final = struct.Struct(f"<4sIIIIQdd{_CHECKSUM}s")
_HASH: Final = struct.Struct("<I")


class Limits(msgspec.Struct, frozen=True):
    """Limits of a record's size and age. The segment being written is never removed."""

    segment_bytes: int = 32 << 20
    total_bytes: int = 1 << 30
    #: Segments that were last written longer ago are removed; None for no limit.
    age_seconds: float | None = None
    #: A new segment starts after this time at the latest.
    segment_seconds: float = 3600.0


class BlockHead(NamedTuple):
    """The head of a block, available without decompressing it."""

    offset: int
    payload_offset: int
    payload_bytes: int
    raw_bytes: int
    frames: int
    first_number: int
    first_time: float
    last_time: float
    payload_checksum: bytes
    #: Sorted name hashes.
    hashes: bytes

    @property
    def end(self) -> int:
        return self.payload_offset + self.payload_bytes

    def may_name(self, subject: str) -> bool:
        """Return whether a frame of the block may concern the object."""
        wanted = _HASH.pack(name_hash(subject))
        return any(self.hashes[at : at + _HASH.size] == wanted for at in range(0, len(self.hashes), _HASH.size))


class DamagedSegment(Exception):
    """A segment is unreadable from `offset` on. `resume` is the next block's start, if known."""

    def __init__(self, message: str, offset: int, resume: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.resume = resume


def name_hash(subject: str) -> int:
    """Return the CRC-32 of a name. A collision makes a reader decompress a block unnecessarily."""
    return crc32(subject.encode(errors="replace"))


def segment_files(directory: Path) -> list[Path]:
    """Return the segments of a record, oldest first."""
    found = (path for path in directory.glob(f"*{SUFFIX}") if path.stem.isdecimal())
    return sorted(found, key=lambda path: int(path.stem))


# -- bytes -------------------------------------------------------------------------------------------------------------


def segment_header(number: int) -> bytes:
    header = _HEADER.pack(MAGIC, number)
    return header + _checksum(header)


class BlockBuilder:
    """Block that is compressed while frames are added, by the writing thread or under the lock."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(options=_COMPRESSION)
        self._raw = bytearray()
        self._packed: list[bytes] = []
        self._frames = 0
        self._first, self._last = math.inf, -math.inf
        self._hashes: set[int] = set()
        #: Uncompressed size of the frames.
        self.raw_bytes = 0

    def add(self, frame: Frame) -> None:
        """Append a frame. Raises `FrameError` if it is too large."""
        head = packed_head(frame)
        self._raw += head
        self._raw += frame.body
        self.raw_bytes += len(head) + len(frame.body)
        if len(self._raw) >= _COMPRESSED_BYTES_PER_TURN:
            self._compress()
        self._frames += 1
        self._first, self._last = min(self._first, frame.time), max(self._last, frame.time, frame.until)
        self._hashes.update(frame.name_hashes)
        if frame.subjects:
            self._hashes.update(map(name_hash, frame.subjects))

    def _compress(self) -> None:
        self._packed.append(self._compressor.compress(self._raw))
        self._raw = bytearray()

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._frames

    def finished(self, first_number: int) -> bytes:
        """Finish the block, which must have frames, and return its bytes."""
        self._compress()
        payload = b"".join((*self._packed, self._compressor.flush()))
        index = struct.pack(f"<{len(self._hashes)}I", *sorted(self._hashes))
        lengths = (len(index), len(payload), self.raw_bytes, self._frames, first_number)
        head = _HEAD.pack(MARKER, *lengths, self._first, self._last, _checksum(payload))
        return head + _checksum(head + index) + index + payload


def read_header(file: BinaryIO) -> int:
    """Return the number of the segment. Raises `DamagedSegment`."""
    data = _read(file, 0, _HEADER.size + _CHECKSUM)
    magic, number = _HEADER.unpack_from(data)
    if magic != MAGIC or data[_HEADER.size :] != _checksum(data[: _HEADER.size]):
        raise DamagedSegment("is not a segment of a record", 0)
    return int(number)


def read_head(file: BinaryIO, offset: int) -> BlockHead | None:
    """Return the head of the block at `offset`; None at the end of the file. Raises
    `DamagedSegment`."""
    file.seek(offset)
    if not file.read(1):
        return None
    data = _read(file, offset, _HEAD.size + _CHECKSUM)
    marker, index_bytes, payload_bytes, raw_bytes, count, number, first, last, checksum = _HEAD.unpack_from(data)
    longest = max(raw_bytes, index_bytes, payload_bytes)
    if marker != MARKER or longest > MAX_BLOCK_BYTES or count > MAX_BLOCK_FRAMES or not first <= last:
        raise DamagedSegment("no block begins here", offset)
    index = _read(file, offset + len(data), index_bytes)
    if data[_HEAD.size :] != _checksum(data[: _HEAD.size] + index):
        raise DamagedSegment("the head of a block is damaged", offset)
    begin = offset + len(data) + index_bytes
    return BlockHead(offset, begin, payload_bytes, raw_bytes, count, number, first, last, checksum, index)


def read_frames(file: BinaryIO, head: BlockHead) -> list[Frame]:
    """Return the frames of a block. Raises `DamagedSegment`."""
    try:
        payload = _read(file, head.payload_offset, head.payload_bytes)
    except DamagedSegment as damage:
        raise DamagedSegment(damage.message, head.offset) from None
    if _checksum(payload) != head.payload_checksum:
        raise DamagedSegment("a block is damaged", head.offset, head.end)
    try:
        raw = zstd.ZstdDecompressor().decompress(payload, max_length=head.raw_bytes)
        frames = list(islice(unpacked(raw, head.first_number), head.frames + 1))
    except (zstd.ZstdError, EOFError, FrameError) as error:
        raise DamagedSegment(f"a block cannot be unpacked: {error}", head.offset, head.end) from error
    if len(raw) != head.raw_bytes or len(frames) != head.frames:
        raise DamagedSegment("a block does not hold what its head says", head.offset, head.end)
    return frames


def _read(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    data = file.read(count)
    if len(data) < count:
        raise DamagedSegment("ends within a block" if offset else "ends within its header", offset)
    return data


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM).digest()


# -- writing -----------------------------------------------------------------------------------------------------------


class TornTail(NamedTuple):
    """An incomplete end that was removed from a segment."""

    file: Path
    bytes: int


def cut_torn_tail(path: Path) -> tuple[int, TornTail | None]:
    """Truncate a segment after its last intact block. Return the number of the next frame and the
    removed part. A segment without intact blocks is deleted; the number is then 0."""
    size, end, following = path.stat().st_size, 0, 0
    with path.open("rb") as file:
        try:
            read_header(file)
            at = end = file.tell()
            while (head := read_head(file, at)) is not None:
                at = head.end
                if _is_good(file, head):
                    end, following = at, head.first_number + head.frames
        except DamagedSegment:
            pass
    if not following:
        path.unlink()
    elif end < size:
        os.truncate(path, end)
    return following, TornTail(path, size - end) if end < size else None


def _is_good(file: BinaryIO, head: BlockHead) -> bool:
    try:
        read_frames(file, head)
    except DamagedSegment:
        return False
    return True


class SegmentWriter:
    """Writer that appends blocks to the segments in a directory. It continues an existing record:
    cuts its incomplete end and begins a new segment. Raises `OSError`; not thread-safe."""

    def __init__(self, directory: Path, limits: Limits, now: Callable[[], float] = time.time) -> None:
        directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        self._directory = directory
        self._limits = limits
        self._now = now
        #: The removed incomplete end of an earlier writer's segment.
        self.cut: TornTail | None = None
        #: The number of the next frame.
        self.next_number = 0
        self._segment = 0
        self._go_on()
        self._open_next()

    def _go_on(self) -> None:
        for path in reversed(segment_files(self._directory)):
            self._segment = max(self._segment, int(path.stem))
            following, cut = cut_torn_tail(path)
            self.cut = self.cut or cut
            if following:
                self.next_number = following
                return

    def _open_next(self) -> None:
        self._segment += 1
        path = self._directory / f"{self._segment:08d}{SUFFIX}"
        self._file = _new_file(path)
        self._write(segment_header(self._segment))
        _sync_directory(self._directory)

    @property
    def size(self) -> int:
        """Size of the current segment in bytes."""
        return self._file.tell()

    @property
    def has_blocks(self) -> bool:
        """Whether the current segment has blocks."""
        return self.size > _HEADER.size + _CHECKSUM

    def write(self, frames: Sequence[Frame]) -> None:
        """Append a block of these frames."""
        if frames:
            block = BlockBuilder()
            for frame in frames:
                block.add(frame)
            self.write_block(block)

    def write_block(self, block: BlockBuilder) -> None:
        """Append a block, which must have frames."""
        self._write(block.finished(self.next_number))
        self.next_number += len(block)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def sync(self) -> None:
        """Flush the file to disk with fsync."""
        os.fsync(self._file.fileno())

    def rotate(self) -> None:
        """Begin a new segment, and remove old segments beyond the limits."""
        self.close()
        self._open_next()
        for path in self._superfluous():
            path.unlink(missing_ok=True)

    def close(self) -> None:
        try:
            self.sync()
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close the segment after a failure."""
        with suppress(OSError):
            self._file.close()

    def _superfluous(self) -> Iterable[Path]:
        files = [(path, path.stat()) for path in segment_files(self._directory)]
        total = sum(stat.st_size for _, stat in files)
        for path, stat in files[:-1]:
            age = self._now() - stat.st_mtime
            is_old = self._limits.age_seconds is not None and age > self._limits.age_seconds
            if not is_old and total <= self._limits.total_bytes:
                return
            total -= stat.st_size
            yield path


def _new_file(path: Path) -> FileIO:
    """Create a file that is readable only by its owner, as cluster objects may contain secrets."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _PRIVATE_FILE), "wb")


def new_directory(path: str | os.PathLike[str]) -> Path:
    """Return the directory for a new record, created if necessary. Raises `InputError` if it
    contains a record or cannot be created."""
    directory = Path(path)
    try:
        directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        if segment_files(directory):
            raise InputError("holds a record already", file=str(path), hint="name a new directory, or remove it")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from error
    return directory


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
