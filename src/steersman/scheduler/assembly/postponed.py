# SPDX-License-Identifier: Apache-2.0
"""Postponed attempts: runs the work that they wait for in slices, between other tasks.

cycle ─► Postponed ─► slice, pause, slice, pause … ─► ready ─► cycle again

The pod stays in flight, so that the queue records events for it. The attempt that has used the
least time is served first, so that short work does not wait for long work. Pauses are at least as
long as slices and postponed cycles took. An attempt that exceeds its time fails with error backoff,
and so does the one that has used most if there are too many.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from steersman.base import Clock
from steersman.framework import error
from steersman.scheduler.assembly.host_actions import HostAction, RunAction, run_directly
from steersman.scheduler.cycle.decision import Failed, Postponed
from steersman.scheduler.queue import QueuedPodInfo

#: Maximum number of concurrent attempts, because the queue records all events since the oldest.
MAX_ATTEMPTS: Final = 16
#: Maximum seconds of work per attempt.
ATTEMPT_SECONDS: Final = 30.0
#: Approximate seconds that a cycle has taken when it is postponed.
CYCLE_SECONDS: Final = 0.02
TOOK_TOO_LONG: Final = "scheduling attempt was abandoned: the work it waited for took more than {:g} s"
FAILED: Final = "scheduling attempt was abandoned: the work it waited for failed: {}"
EVICTED: Final = "scheduling attempt was abandoned after {:.1f} s of work it waited for: {} others wait as well"


logger = logging.getLogger(__name__)

_DONE: Final = object()


class _Attempt(msgspec.Struct, eq=False):
    queued: QueuedPodInfo
    latest: Postponed
    #: Seconds of work, in all cycles of the attempt.
    used: float = 0.0


class PostponedAttempts:
    """The postponed attempts of one scheduler.

    `waits` returns whether a pod still needs a node; `end` ends an attempt whose pod does not;
    `fail` fails an attempt; and `wake` is called when an attempt can continue.
    """

    def __init__(
        self,
        clock: Clock,
        waits: Callable[[QueuedPodInfo], bool],
        end: Callable[[str], None],
        fail: Callable[[QueuedPodInfo, Failed], None],
        wake: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._waits = waits
        self._end = end
        self._fail = fail
        self._wake = wake
        #: Attempts with unfinished work, by uid.
        self._working: dict[str, _Attempt] = {}
        #: Attempts that can continue; they move to `resumed` when they do. Read-only for other
        #: modules.
        self.ready: deque[_Attempt] = deque()
        #: Seconds used by attempts that are in their next cycle, by uid.
        self.resumed: dict[str, float] = {}
        self._owed = 0.0
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._working) + len(self.ready)

    def add(self, queued: QueuedPodInfo, decision: Postponed) -> None:
        """Add a pod whose cycle was postponed."""
        if len(self) >= MAX_ATTEMPTS:
            self._make_room()
        used = self.resumed.pop(queued.uid, 0.0)
        self._working[queued.uid] = _Attempt(queued, decision, used + CYCLE_SECONDS)
        self._owed += CYCLE_SECONDS
        self._added.set()

    def take_ready(self) -> QueuedPodInfo | None:
        """Return the next pod to retry, skipping pods that no longer need a node."""
        while self.ready:
            attempt = self.ready.popleft()
            if self._waits(attempt.queued):
                self.resumed[attempt.queued.uid] = attempt.used
                return attempt.queued
            self._end(attempt.queued.uid)
        return None

    def settled(self, uid: str) -> None:
        """Forget a resumed pod, which has a decision now or was deleted."""
        self.resumed.pop(uid, None)

    async def run(self, act: RunAction = run_directly) -> None:
        """Run slices until cancelled; then end all attempts."""
        try:
            while True:
                await self._added.wait()
                await asyncio.sleep(self._owed)
                self._owed = 0.0
                act(HostAction.POSTPONED, self.run_slice)
        finally:
            act(HostAction.POSTPONED_END, self.drop_all)

    def run_slice(self) -> None:
        """Run one slice of the work of one attempt."""
        attempt = min(self._working.values(), key=lambda each: each.used, default=None)
        if attempt is None:
            self._added.clear()
            return
        if not self._waits(attempt.queued):
            self._drop(attempt)
            return
        started = self._clock.monotonic()
        try:
            is_done = next(attempt.latest.work, _DONE) is _DONE
        except Exception as cause:
            logger.exception("work for the scheduling attempt of pod %s failed", attempt.queued.key)
            self._give_up(attempt, FAILED.format(f"{type(cause).__name__}: {cause}"))
            return
        took = self._clock.monotonic() - started
        attempt.used += took
        self._owed += took
        if is_done:
            del self._working[attempt.queued.uid]
            self.ready.append(attempt)
            self._wake()
        elif attempt.used > ATTEMPT_SECONDS:
            self._give_up(attempt, TOOK_TOO_LONG.format(ATTEMPT_SECONDS))

    def _make_room(self) -> None:
        most = max(self._working.values(), key=lambda each: each.used, default=None)
        if most is not None:
            self._give_up(most, EVICTED.format(most.used, len(self)))

    def _give_up(self, attempt: _Attempt, message: str) -> None:
        del self._working[attempt.queued.uid]
        attempt.latest.work.close()
        self._fail(attempt.queued, Failed(attempt.latest.pod, attempt.latest.profile, error(message)))

    def _drop(self, attempt: _Attempt) -> None:
        del self._working[attempt.queued.uid]
        attempt.latest.work.close()
        self._end(attempt.queued.uid)

    def drop_all(self) -> None:
        """End all attempts, because scheduling ends."""
        for attempt in list(self._working.values()):
            self._drop(attempt)
        while self.ready:
            self._end(self.ready.popleft().queued.uid)
        self.resumed.clear()
