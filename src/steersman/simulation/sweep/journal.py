# SPDX-License-Identifier: Apache-2.0
"""The journal of a sweep: a line per finished run, so that an interrupted sweep can resume.

    {"apiVersion": …, "kind": "SweepJournal", "manifest": {…}}
    4f1c09aa {"run": 17, "row": {…}, "seconds": 0.21, …}

A line is written immediately, with a checksum. Earlier lines stay intact if the process ends within
one; what follows the last intact line is cut off on reopening. A lock excludes other sweeps.
"""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from steersman.base import JOURNAL_VERSION, InputError
from steersman.simulation.sweep.runs import RunOutcome

JOURNAL_KIND: Final = "SweepJournal"
_SYNC_SECONDS: Final = 1.0
"""Maximum loss if the machine, and not only the process, fails."""
_OTHERS: Final = "another sweep is writing there"


class SweepJournal:
    """An append-only file of finished runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._synced_at = time.monotonic()

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any]) -> Self:
        """Create a journal. Raises `InputError` if one with finished runs exists."""
        header = {"apiVersion": JOURNAL_VERSION, "kind": JOURNAL_KIND, "manifest": manifest}
        descriptor = _open_locked(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        journal = cls(descriptor)
        if b"\n" in path.read_bytes().rstrip(b"\n"):
            journal.close()
            hint = "go on with --resume, or choose another folder with --output"
            raise InputError("has results of a sweep already", file=str(path.parent), hint=hint)
        os.ftruncate(descriptor, 0)
        journal.append(msgspec.json.encode(header) + b"\n")
        return journal

    @classmethod
    def open(cls, path: Path) -> tuple[Self, dict[str, Any], list[RunOutcome]]:
        """Return an existing journal, its manifest and the finished runs. Raises `InputError`."""
        descriptor = _open_locked(path, os.O_RDWR | os.O_APPEND)
        content = path.read_bytes()
        first, _, rest = content.partition(b"\n")
        manifest, (outcomes, good) = _manifest(first, path), _undamaged_outcomes(rest)
        os.ftruncate(descriptor, min(len(content), len(first) + 1 + good))
        return cls(descriptor), manifest, outcomes

    def add(self, outcome: RunOutcome) -> None:
        body = msgspec.json.encode(msgspec.structs.replace(outcome, tables={}))
        self.append(b"%08x %s\n" % (zlib.crc32(body), body))

    def close(self) -> None:
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def append(self, line: bytes) -> None:
        """Write a line, and sync if the last sync is more than `_SYNC_SECONDS` old."""
        while line:
            line = line[os.write(self._descriptor, line) :]
        if time.monotonic() - self._synced_at > _SYNC_SECONDS:
            os.fsync(self._descriptor)
            self._synced_at = time.monotonic()


def _open_locked(path: Path, flags: int) -> int:
    """Open a file with an exclusive lock. Raises `InputError` if another process has locked it."""
    import fcntl

    descriptor = os.open(path, flags, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(_OTHERS, file=str(path.parent)) from None
    return descriptor


def _manifest(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        header = {}
    if (header.get("apiVersion"), header.get("kind")) != (JOURNAL_VERSION, JOURNAL_KIND):
        hint = "remove it, and begin without --resume"
        raise InputError("is not a journal of a sweep, or was cut off in its first line", file=str(path), hint=hint)
    manifest: dict[str, Any] = header["manifest"]
    return manifest


def _undamaged_outcomes(text: bytes) -> tuple[list[RunOutcome], int]:
    """Return the outcomes before the first damaged line, and their size in bytes."""
    outcomes: list[RunOutcome] = []
    good = 0
    for line in text.splitlines(keepends=True):
        checksum, _, body = line.removesuffix(b"\n").partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
            break
        outcomes.append(msgspec.json.decode(body, type=RunOutcome))
        good += len(line)
    return outcomes, good
