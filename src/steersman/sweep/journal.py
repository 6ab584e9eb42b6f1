# SPDX-License-Identifier: Apache-2.0
"""The journal of a sweep: every run that is done, one line each, so that an interrupted sweep can go on.

    {"apiVersion": …, "kind": "SweepJournal", "manifest": {…}}
    4f1c09aa {"run": 17, "row": {…}, "seconds": 0.21, …}

A line is written at once and carries a checksum. Whatever ends the process, even in the middle of a line, the lines before are
good; what follows the last good line is cut off when the journal is opened again. A lock keeps a second sweep away.
"""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from steersman.errors import InputError
from steersman.sweep.runs import RunOutcome

JOURNAL_KIND: Final = "SweepJournal"
JOURNAL_VERSION: Final = "steersman.dev/v1alpha1"
_SYNC_SECONDS: Final = 1.0
"""How much may be lost when the machine, not only the process, goes down."""
_OTHERS: Final = "another sweep is writing there"


class SweepJournal:
    """A file that only grows. `open` gives it and what it already holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._synced_at = time.monotonic()

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any]) -> Self:
        """A new journal. Raises `InputError` if there is one already in which a run is done."""
        header = {"apiVersion": JOURNAL_VERSION, "kind": JOURNAL_KIND, "manifest": manifest}
        journal = cls(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644))
        journal._lock(path)
        if b"\n" in path.read_bytes().rstrip(b"\n"):
            journal.close()
            hint = "go on with --resume, or choose another folder with --output"
            raise InputError("has results of a sweep already", file=str(path.parent), hint=hint)
        os.ftruncate(journal._descriptor, 0)
        journal._append(msgspec.json.encode(header) + b"\n")
        return journal

    @classmethod
    def open(cls, path: Path) -> tuple[Self, dict[str, Any], list[RunOutcome]]:
        """The journal of an earlier sweep, its manifest, and the runs that are done. Raises `InputError`."""
        journal = cls(os.open(path, os.O_RDWR | os.O_APPEND))
        journal._lock(path)
        content = path.read_bytes()
        first, _, rest = content.partition(b"\n")
        manifest, (outcomes, good) = _manifest(first, path), _good_lines(rest)
        os.ftruncate(journal._descriptor, min(len(content), len(first) + 1 + good))
        return journal, manifest, outcomes

    def add(self, outcome: RunOutcome) -> None:
        body = msgspec.json.encode(outcome)
        self._append(b"%08x %s\n" % (zlib.crc32(body), body))

    def close(self) -> None:
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _append(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]
        if time.monotonic() - self._synced_at > _SYNC_SECONDS:
            os.fsync(self._descriptor)
            self._synced_at = time.monotonic()

    def _lock(self, path: Path) -> None:
        import fcntl

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise InputError(_OTHERS, file=str(path.parent)) from None


def _manifest(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        header = {}
    if (header.get("apiVersion"), header.get("kind")) != (JOURNAL_VERSION, JOURNAL_KIND):
        hint = "remove it, and begin without --resume"
        raise InputError("is no journal of a sweep, or was cut off in its first line", file=str(path), hint=hint)
    manifest: dict[str, Any] = header["manifest"]
    return manifest


def _good_lines(text: bytes) -> tuple[list[RunOutcome], int]:
    """The outcomes before the first line that is not whole, and how many bytes they take."""
    outcomes: list[RunOutcome] = []
    good = 0
    for line in text.splitlines(keepends=True):
        checksum, _, body = line.removesuffix(b"\n").partition(b" ")
        if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
            break
        outcomes.append(msgspec.json.decode(body, type=RunOutcome))
        good += len(line)
    return outcomes, good
