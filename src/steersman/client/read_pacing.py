# SPDX-License-Identifier: Apache-2.0
"""When sockets are read while many answers are under way: together, a few milliseconds later, instead of one by one.

    `http2` reads answers, and many more are to come ─► a pause ─► all that came meanwhile is read in one turn of the loop

Where more bindings wait than can be under way, nobody is faster for having an answer at once: the API server has enough to do,
and the pod that comes next has waited for longer than the pause takes. But a process that is woken for every single answer
finds its caches cold every time, because those who answer share the machine with it. The connections of one loop share a
`ReadPacing`: `http2` says when a pause begins, `streams` (watches) and other connections keep it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

MANY: Final = 32
"""With so many requests under way on a connection, others wait for their turn. Less than bindings at once
(`binding.cycle.BINDINGS_AT_ONCE`), more than a burst of pods that somebody waits for."""
LONGEST_SECONDS: Final = 0.02
PART: Final = 2
"""A pause is to bring one answer in so many of those under way: the server has the others to work on meanwhile."""


class ReadPacing:
    """The pauses of one event loop."""

    def __init__(self) -> None:
        #: Ends the pause; None: there is none.
        self._timer: asyncio.TimerHandle | None = None
        #: Whoever has stopped reading, each with the call that lets it go on.
        self._paused: list[Callable[[], None]] = []
        #: When answers were last read from a connection with many under way; monotonic.
        self._read_at = 0.0

    def answers_read(self, count: int, under_way: int) -> None:
        """So many answers were read from one connection, on which so many requests are under way now. A pause may begin: the
        shorter, the faster the answers came."""
        if under_way < MANY or self._timer is not None:
            return
        now = monotonic()
        seconds = (now - self._read_at) * under_way / (PART * max(count, 1))
        self._read_at = now
        self._timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_SECONDS), self._end)

    def pause(self, go_on: Callable[[], None]) -> bool:
        """Whether the caller is to stop reading until `go_on` is called; it is not called otherwise."""
        if self._timer is None:
            return False
        self._paused.append(go_on)
        return True

    def _end(self) -> None:
        self._timer = None
        paused, self._paused = self._paused, []
        for go_on in paused:
            go_on()
