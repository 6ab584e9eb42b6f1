"""Chunks of bytes, as a connection delivers them, become the lines of a watch. Without I/O; `transport` reads."""

from __future__ import annotations


class LineAssembler:
    """Lines may be of any length: what has arrived of one is kept in pieces and joined once, when it is complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their ends; empty ones are left out."""
        first, *rest = chunk.split(b"\n")
        self._pieces.append(first)
        if not rest:
            return []
        *complete, begun = rest
        lines = [b"".join(self._pieces), *complete]
        self._pieces = [begun]
        return [line for line in lines if line.strip()]

    @property
    def has_partial_line(self) -> bool:
        """A line has begun and not ended."""
        return any(self._pieces)
