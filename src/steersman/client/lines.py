# SPDX-License-Identifier: Apache-2.0
"""Chunks of bytes, as a connection delivers them, become the lines of a watch. Without I/O; `transport` reads."""

from __future__ import annotations

from typing import Final

LONGEST_LINE: Final = 32 << 20
"""Of a watch: one object. An API server stores 1.5 MiB of one unless it is told otherwise, which JSON can make sixfold."""


class LineTooLong(OSError):
    """A line that does not end."""


class LineAssembler:
    """What has arrived of a line is kept in pieces and joined once, when it is complete."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their ends; empty ones are left out."""
        first, *rest = chunk.split(b"\n")
        self._pieces.append(first)
        self._size += len(first)
        if self._size > self._longest:
            raise LineTooLong(f"a line has more than {self._longest} bytes")
        if not rest:
            return []
        *complete, begun = rest
        lines = [b"".join(self._pieces), *complete]
        self._pieces, self._size = [begun], len(begun)
        return [line for line in lines if line.strip()]

    @property
    def has_partial_line(self) -> bool:
        """A line has begun and not ended."""
        return any(self._pieces)
