# SPDX-License-Identifier: Apache-2.0
"""Attempts whose cycles were postponed: the work that they wait for is done here, in slices, beside everything else.

    cycle ─► Postponed ─► slice, pause, slice, pause … ─► ready ─► cycle again

The pod stays in flight, so that the queue keeps events for it. The attempt that has used the least time is served first:
one that needs little does not wait for those that need much. At least as long as slices and postponed cycles took, somebody
else may run. An attempt that takes all too long fails, with error backoff, as does the one that has used most when there are
too many.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from steersman.assembly.stimuli import Act, Stimulus, at_once
from steersman.clock import Clock
from steersman.cycle.decision import Failed, Postponed
from steersman.framework.status import error
from steersman.queue import QueuedPodInfo

#: Attempts at the same time: the queue keeps all events since the oldest of them.
MOST_ATTEMPTS: Final = 16
#: Of work for one attempt.
ATTEMPT_SECONDS: Final = 30.0
#: What a cycle has taken, about, when it is postponed.
CYCLE_SECONDS: Final = 0.02
TOOK_TOO_LONG: Final = "scheduling attempt was given up: the work it waited for took more than {:g} s"
FAILED: Final = "scheduling attempt was given up: the work it waited for failed: {}"
GAVE_WAY: Final = "scheduling attempt was given up after {:.1f} s of work it waited for: {} others wait as well"


logger = logging.getLogger(__name__)

_DONE: Final = object()


class _Attempt(msgspec.Struct, eq=False):
    queued: QueuedPodInfo
    latest: Postponed
    #: Seconds of work, in all cycles of the attempt.
    used: float = 0.0


class PostponedAttempts:
    """The postponed attempts of one scheduler. `waits` says whether a pod still wants a node; `end` ends an attempt whose pod
    does not, `fail` one that was given up, and `wake` tells the driver that an attempt can go on."""

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
        #: By uid, those whose work is not done.
        self._working: dict[str, _Attempt] = {}
        #: Those that can go on; they are in `resumed` once they do. Others only look.
        self.ready: deque[_Attempt] = deque()
        #: Seconds of those that are in their next cycle, by uid.
        self.resumed: dict[str, float] = {}
        self._owed = 0.0
        self._added = asyncio.Event()

    def __len__(self) -> int:
        return len(self._working) + len(self.ready)

    def add(self, queued: QueuedPodInfo, decision: Postponed) -> None:
        """The cycle of the pod was postponed."""
        if len(self) >= MOST_ATTEMPTS:
            self._make_room()
        used = self.resumed.pop(queued.uid, 0.0)
        self._working[queued.uid] = _Attempt(queued, decision, used + CYCLE_SECONDS)
        self._owed += CYCLE_SECONDS
        self._added.set()

    def take_ready(self) -> QueuedPodInfo | None:
        """The next pod that can be tried again. Pods that are gone are none."""
        while self.ready:
            attempt = self.ready.popleft()
            if self._waits(attempt.queued):
                self.resumed[attempt.queued.uid] = attempt.used
                return attempt.queued
            self._end(attempt.queued.uid)
        return None

    def settled(self, uid: str) -> None:
        """The pod has a decision, or is gone."""
        self.resumed.pop(uid, None)

    async def run(self, act: Act = at_once) -> None:
        """Goes on with attempts until it is cancelled; what waits then has ended."""
        try:
            while True:
                await self._added.wait()
                await asyncio.sleep(self._owed)
                self._owed = 0.0
                act(Stimulus.POSTPONED, self.run_slice)
        finally:
            act(Stimulus.POSTPONED_END, self.drop_all)

    def run_slice(self) -> None:
        """One slice of the work of one attempt."""
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
            self._give_up(most, GAVE_WAY.format(most.used, len(self)))

    def _give_up(self, attempt: _Attempt, message: str) -> None:
        del self._working[attempt.queued.uid]
        attempt.latest.work.close()
        self._fail(attempt.queued, Failed(attempt.latest.pod, attempt.latest.profile, error(message)))

    def _drop(self, attempt: _Attempt) -> None:
        del self._working[attempt.queued.uid]
        attempt.latest.work.close()
        self._end(attempt.queued.uid)

    def drop_all(self) -> None:
        """Ends all of them: scheduling ends."""
        for attempt in list(self._working.values()):
            self._drop(attempt)
        while self.ready:
            self._end(self.ready.popleft().queued.uid)
        self.resumed.clear()
