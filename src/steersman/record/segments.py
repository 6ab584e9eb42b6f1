# SPDX-License-Identifier: Apache-2.0
"""Segments: the files of a record. Frames are appended in blocks, which are compressed and carry checksums.

    segment  = header block*                    00000001.segment, 00000002.segment, …
    header   = magic, number, checksum
    block    = head, checksum of head and index, index, payload
    head     = marker, lengths, number of frames, number of the first one, first and last time, checksum of the payload
    index    = sorted hashes of the names that the frames are about
    payload  = the frames, compressed with Zstandard

A block is what is written at a time: one that was torn by the end of the process, or damaged since, is told by its checksums
and never read. Head and index are enough to find frames by time and name without unpacking others. `log` writes from a
thread of its own; `reader` reads.
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

from steersman.errors import InputError
from steersman.record.frames import LONGEST_BODY, Frame, FrameError, packed_head, unpacked

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
"""A small window and a small table stay in the processor's cache beside the scheduler's data, and lose nothing: objects that
are alike come soon after each other."""
_COMPRESSED_AT_ONCE: Final = 1 << 16
MOST_BYTES_OF_A_BLOCK: Final = LONGEST_BODY + (64 << 20)
"""Unpacked, and of each of its parts: what a reader reads at a time."""
MOST_FRAMES_OF_A_BLOCK: Final = 1 << 16
"""Writers put far fewer into a block; each takes more memory than it has bytes."""

_CHECKSUM: Final = 8
_PRIVATE_DIRECTORY: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_HEADER: Final = struct.Struct("<8sQ")
_HEAD: Final = struct.Struct(f"<4sIIIIQdd{_CHECKSUM}s")
_HASH: Final = struct.Struct("<I")


class Limits(msgspec.Struct, frozen=True):
    """How large and how old a record gets. The segment that is being written is never removed."""

    segment_bytes: int = 32 << 20
    total_bytes: int = 1 << 30
    #: Segments that were last written longer ago are removed; None: none are.
    age_seconds: float | None = None
    #: A live scheduler begins a new segment after so long, however small the last one is.
    segment_seconds: float = 3600.0


class BlockHead(NamedTuple):
    """The head of a block: all that is known without unpacking it."""

    offset: int
    payload_offset: int
    payload_bytes: int
    raw_bytes: int
    frames: int
    first_number: int
    first_time: float
    last_time: float
    payload_checksum: bytes
    #: Sorted.
    hashes: bytes

    @property
    def end(self) -> int:
        return self.payload_offset + self.payload_bytes

    def may_name(self, subject: str) -> bool:
        """Whether a frame of the block may be about the object."""
        wanted = _HASH.pack(name_hash(subject))
        return any(self.hashes[at : at + _HASH.size] == wanted for at in range(0, len(self.hashes), _HASH.size))


class Damage(Exception):
    """A segment cannot be read from `offset` on. `resume` is where the next block begins, None if that is not known."""

    def __init__(self, message: str, offset: int, resume: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.resume = resume


def name_hash(subject: str) -> int:
    """CRC-32: two names with the same one cost a reader a look into a block in vain."""
    return crc32(subject.encode(errors="replace"))


def segment_files(directory: Path) -> list[Path]:
    """The segments of a record, oldest first."""
    found = (path for path in directory.glob(f"*{SUFFIX}") if path.stem.isdecimal())
    return sorted(found, key=lambda path: int(path.stem))


# -- bytes -------------------------------------------------------------------------------------------------------------


def segment_header(number: int) -> bytes:
    header = _HEADER.pack(MAGIC, number)
    return header + _checksum(header)


class BlockBuilder:
    """A block that is packed as its frames come: what waits to be written is compressed. Of whoever writes, or has a lock."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(options=_COMPRESSION)
        self._raw = bytearray()
        self._packed: list[bytes] = []
        self._frames = 0
        self._first, self._last = math.inf, -math.inf
        self._hashes: set[int] = set()
        #: So many bytes the frames have before they are compressed.
        self.raw_bytes = 0

    def add(self, frame: Frame) -> None:
        """Appends a frame. Raises `FrameError` for one that is too large."""
        head = packed_head(frame)
        self._raw += head
        self._raw += frame.body
        self.raw_bytes += len(head) + len(frame.body)
        if len(self._raw) >= _COMPRESSED_AT_ONCE:
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
        """Number of frames."""
        return self._frames

    def finished(self, first_number: int) -> bytes:
        """The bytes of the block, which has at least one frame and gets no more."""
        self._compress()
        payload = b"".join((*self._packed, self._compressor.flush()))
        index = struct.pack(f"<{len(self._hashes)}I", *sorted(self._hashes))
        lengths = (len(index), len(payload), self.raw_bytes, self._frames, first_number)
        head = _HEAD.pack(MARKER, *lengths, self._first, self._last, _checksum(payload))
        return head + _checksum(head + index) + index + payload


def read_header(file: BinaryIO) -> int:
    """The number of the segment. Raises `Damage`."""
    data = _read(file, 0, _HEADER.size + _CHECKSUM)
    magic, number = _HEADER.unpack_from(data)
    if magic != MAGIC or data[_HEADER.size :] != _checksum(data[: _HEADER.size]):
        raise Damage("is no segment of a record", 0)
    return int(number)


def read_head(file: BinaryIO, offset: int) -> BlockHead | None:
    """The head of the block at `offset`; None at the end of the file. Raises `Damage`."""
    file.seek(offset)
    if not file.read(1):
        return None
    data = _read(file, offset, _HEAD.size + _CHECKSUM)
    marker, index_bytes, payload_bytes, raw_bytes, count, number, first, last, checksum = _HEAD.unpack_from(data)
    longest = max(raw_bytes, index_bytes, payload_bytes)
    if marker != MARKER or longest > MOST_BYTES_OF_A_BLOCK or count > MOST_FRAMES_OF_A_BLOCK or not first <= last:
        raise Damage("no block begins here", offset)
    index = _read(file, offset + len(data), index_bytes)
    if data[_HEAD.size :] != _checksum(data[: _HEAD.size] + index):
        raise Damage("the head of a block is damaged", offset)
    begin = offset + len(data) + index_bytes
    return BlockHead(offset, begin, payload_bytes, raw_bytes, count, number, first, last, checksum, index)


def read_frames(file: BinaryIO, head: BlockHead) -> list[Frame]:
    """The frames of a block. Raises `Damage`."""
    try:
        payload = _read(file, head.payload_offset, head.payload_bytes)
    except Damage as damage:
        raise Damage(damage.message, head.offset) from None
    if _checksum(payload) != head.payload_checksum:
        raise Damage("a block is damaged", head.offset, head.end)
    try:
        raw = zstd.ZstdDecompressor().decompress(payload, max_length=head.raw_bytes)
        frames = list(islice(unpacked(raw, head.first_number), head.frames + 1))
    except (zstd.ZstdError, EOFError, FrameError) as error:
        raise Damage(f"a block cannot be unpacked: {error}", head.offset, head.end) from error
    if len(raw) != head.raw_bytes or len(frames) != head.frames:
        raise Damage("a block does not hold what its head says", head.offset, head.end)
    return frames


def _read(file: BinaryIO, offset: int, count: int) -> bytes:
    file.seek(offset)
    data = file.read(count)
    if len(data) < count:
        raise Damage("ends within a block" if offset else "ends within its header", offset)
    return data


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_CHECKSUM).digest()


# -- writing -----------------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """A torn end that was removed from a segment, because it had not been written to its end."""

    file: Path
    bytes: int


def cut_torn_tail(path: Path) -> tuple[int, Cut | None]:
    """Cuts a segment after its last good block: the number of the frame that comes next, and what was removed. A segment
    without any good block is removed; the number is 0 then."""
    size, end, following = path.stat().st_size, 0, 0
    with path.open("rb") as file:
        try:
            read_header(file)
            at = end = file.tell()
            while (head := read_head(file, at)) is not None:
                at = head.end
                if _is_good(file, head):
                    end, following = at, head.first_number + head.frames
        except Damage:
            pass
    if not following:
        path.unlink()
    elif end < size:
        os.truncate(path, end)
    return following, Cut(path, size - end) if end < size else None


def _is_good(file: BinaryIO, head: BlockHead) -> bool:
    try:
        read_frames(file, head)
    except Damage:
        return False
    return True


class SegmentWriter:
    """Appends blocks to the segments of a directory. A record that is there is gone on with: its torn tail is cut, and a new
    segment begins. Raises `OSError`; of one thread."""

    def __init__(self, directory: Path, limits: Limits, now: Callable[[], float] = time.time) -> None:
        directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
        self._directory = directory
        self._limits = limits
        self._now = now
        #: What a writer before this one had not written to its end.
        self.cut: Cut | None = None
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
        """Bytes of the present segment."""
        return self._file.tell()

    @property
    def has_blocks(self) -> bool:
        """Whether there is anything in the present segment."""
        return self.size > _HEADER.size + _CHECKSUM

    def write(self, frames: Sequence[Frame]) -> None:
        """Appends a block of these frames."""
        if frames:
            block = BlockBuilder()
            for frame in frames:
                block.add(frame)
            self.write_block(block)

    def write_block(self, block: BlockBuilder) -> None:
        """Appends a block, which has at least one frame."""
        self._write(block.finished(self.next_number))
        self.next_number += len(block)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def sync(self) -> None:
        """Has the system write to disk: what was written survives the machine's end, too."""
        os.fsync(self._file.fileno())

    def rotate(self) -> None:
        """Begins a new segment, and removes old ones that are too many or too old."""
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
        """Ends the segment as it is, after a failure."""
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
    """A file that nobody else may read: objects of a cluster may hold secrets."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _PRIVATE_FILE), "wb")


def new_directory(path: str | os.PathLike[str]) -> Path:
    """The directory of a record that is yet to be written. Raises `InputError` if there is one already, or no directory can
    be made."""
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
