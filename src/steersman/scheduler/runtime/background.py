# SPDX-License-Identifier: Apache-2.0
"""Periodic refreshes of plugins (`framework.BackgroundPlugin`): before scheduling starts, then
repeatedly.

A host in real time runs `Background.run`; one with virtual time calls `refresh_now` once. A refresh
that raises or exceeds its deadline only affects its plugin: it is logged with the plugin's stack
frames, and repeated after the usual period.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from steersman.base import SteersmanError
from steersman.framework import BackgroundPlugin, ClusterEvent, refreshed
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, describe_fault, log_fault
from steersman.scheduler.runtime.profile import Profile

logger = logging.getLogger(__name__)

POINT: Final = "refresh"
#: Log message for errors whose text is sufficient without a traceback.
REFUSED: Final = 'plugin "%s" cannot refresh: %s'
LATE: Final = "refresh() did not end within {:g} seconds"
#: Lower limit of a plugin's period.
MIN_PERIOD: Final = 0.1


class Background:
    """The refreshes of all background plugins. `wake` passes an event to the queue."""

    def __init__(self, profiles: Iterable[Profile], wake: Callable[[ClusterEvent], None]) -> None:
        self._plugins: list[tuple[str, BackgroundPlugin]] = [
            (name, plugin)
            for profile in profiles
            for name, plugin in profile.plugins.items()
            if isinstance(plugin, BackgroundPlugin)
        ]
        self._wake = wake
        #: Error of the latest refresh by plugin, if it failed.
        self.failures: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._plugins)

    async def refresh(self) -> None:
        """Refresh all plugins concurrently; returns after the longest deadline at the latest."""
        async with asyncio.TaskGroup() as group:
            for name, plugin in self._plugins:
                group.create_task(self._refresh_one(name, plugin), name=f"refresh {name}")

    def refresh_now(self) -> None:
        """Refresh all plugins from synchronous code, in real time; works inside a running event
        loop too."""
        if not self._plugins:
            return
        # Imported here because it is slow and few simulations need it.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self.refresh()).result()

    async def run(self, sleep: Callable[[float], Awaitable[object]]) -> None:
        """Refresh every plugin with its own period, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, plugin in self._plugins:
                group.create_task(self._repeat(name, plugin, sleep), name=f"refresh {name}")

    async def _repeat(self, name: str, plugin: BackgroundPlugin, sleep: Callable[[float], Awaitable[object]]) -> None:
        while True:
            await sleep(max(MIN_PERIOD, plugin.period_seconds))
            await self._refresh_one(name, plugin)

    async def _refresh_one(self, name: str, plugin: BackgroundPlugin) -> None:
        deadline = asyncio.timeout(plugin.deadline_seconds)
        try:
            async with deadline:
                is_news = await plugin.refresh()
        except SteersmanError as cause:
            self.failures[name] = str(cause)
            logger.error(REFUSED, name, cause)
            return
        except PLUGIN_FAULTS as cause:
            shown = _late(plugin, cause) if deadline.expired() else cause
            self.failures[name] = describe_fault(shown)
            log_fault(POINT, name, shown)
            return
        self.failures.pop(name, None)
        if is_news:
            self._wake(refreshed(name))


def _late(plugin: BackgroundPlugin, cause: BaseException) -> TimeoutError:
    """Return the error of a refresh that exceeded its deadline, with the frames in which it was
    cancelled."""
    late = TimeoutError(LATE.format(plugin.deadline_seconds))
    return late.with_traceback((cause.__cause__ or cause).__traceback__)
