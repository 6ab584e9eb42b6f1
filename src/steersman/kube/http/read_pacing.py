# SPDX-License-Identifier: Apache-2.0
"""Coalesced reads: while many responses are pending, sockets are read every few milliseconds
instead of per response.

    `http2` reads responses, many more are pending ─► pause ─► everything received meanwhile is read in one turn of the loop

With more bindings queued than may be in flight, a response that is read at once speeds up nothing.
But a process that is woken for every response runs with cold CPU caches. The connections of one
event loop share a `ReadPacing`: `http2` starts pauses, `streams` (watches) and other connections
observe them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

MANY: Final = 32
"""Pending requests on a connection from which on reads are paced. Less than the concurrent bindings
(`binding.cycle.MAX_CONCURRENT_BINDINGS`), more than a small burst of pods."""
MAX_PAUSE_SECONDS: Final = 0.02
PART: Final = 2
"""A pause lasts until about one in `PART` pending responses has arrived."""


class ReadPacing:
    """The pauses of one event loop."""

    def __init__(self) -> None:
        #: Timer that ends the pause; None: no pause.
        self._timer: asyncio.TimerHandle | None = None
        #: Callbacks that resume reading after the pause.
        self._paused: list[Callable[[], None]] = []
        #: Time of the last read from a connection with many pending requests; monotonic.
        self._read_at = 0.0

    def answers_read(self, count: int, under_way: int) -> None:
        """Record that `count` responses were read from a connection with `under_way` pending
        requests. May start a pause, the shorter the faster responses arrive."""
        if under_way < MANY or self._timer is not None:
            return
        now = monotonic()
        seconds = (now - self._read_at) * under_way / (PART * max(count, 1))
        self._read_at = now
        self._timer = asyncio.get_running_loop().call_later(min(seconds, MAX_PAUSE_SECONDS), self._end)

    def pause(self, go_on: Callable[[], None]) -> bool:
        """Return whether the caller must pause until `go_on`, which is called only then."""
        if self._timer is None:
            return False
        self._paused.append(go_on)
        return True

    def _end(self) -> None:
        self._timer = None
        paused, self._paused = self._paused, []
        for go_on in paused:
            go_on()
