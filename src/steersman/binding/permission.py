# SPDX-License-Identifier: Apache-2.0
"""WaitOnPermit: the verdict on a pod that plugins asked to wait for. Used by `cycle`, on a `runtime.waiting_pods` entry."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from steersman.framework.status import Code, Status
from steersman.runtime.waiting_pods import PodAtPermit

WAIT_FAILED = "waiting on permit for pod: {}"


class Permission:
    """Inside of the `with` block the time of each plugin runs; each of them ends the wait when its own is over."""

    def __init__(self, waiting: PodAtPermit) -> None:
        self._waiting = waiting
        self._arrived = asyncio.Event()
        self._timers: list[asyncio.TimerHandle] = []

    def __enter__(self) -> Self:
        call_later = asyncio.get_running_loop().call_later
        self._timers = [
            call_later(seconds, self._waiting.time_out, plugin) for plugin, seconds in self._waiting.pending.items()
        ]
        self._waiting.on_verdict(self._arrived.set)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for timer in self._timers:
            timer.cancel()

    async def verdict(self) -> Status | None:
        """None: all plugins allowed it. The deadline is the shortest time that a plugin gave."""
        await self._arrived.wait()
        verdict = self._waiting.verdict
        assert verdict is not None, "whoever is told of the verdict finds it"
        if verdict.code is Code.SUCCESS:
            return None
        if verdict.is_rejected:
            return verdict
        return Status(verdict.code, (WAIT_FAILED.format(verdict.message),), verdict.plugin)
