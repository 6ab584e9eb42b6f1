# SPDX-License-Identifier: Apache-2.0
"""WaitOnPermit: waits for the verdict on a pod of `runtime.waiting_pods`; used by `cycle`."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from steersman.framework import Code, Status
from steersman.scheduler.runtime.waiting_pods import PodAtPermit

WAIT_FAILED = "waiting on permit for pod: {}"


class Permission:
    """Context manager that runs the timeouts of the plugins; the first to expire ends the wait."""

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
        """Wait for the verdict; None means that all plugins have allowed the pod."""
        await self._arrived.wait()
        verdict = self._waiting.verdict
        assert verdict is not None, "there is a verdict when its event is set"
        if verdict.code is Code.SUCCESS:
            return None
        if verdict.is_rejected:
            return verdict
        return Status(verdict.code, (WAIT_FAILED.format(verdict.message),), verdict.plugin)
