# SPDX-License-Identifier: Apache-2.0
"""Work of plugins beside the scheduling (`framework.BackgroundPlugin`): refreshed before it begins, then from time to time.

A host that lives in real time runs `Background.run`; one whose time is virtual calls `refresh_now`, once. One that raises,
or does not end, costs nobody but its plugin: it is logged with the plugin's own frames, and tried again after the usual time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from steersman.errors import SteersmanError
from steersman.framework.events import ClusterEvent, refreshed
from steersman.framework.plugin import BackgroundPlugin
from steersman.runtime.faults import log_fault, told
from steersman.runtime.profile import Profile

logger = logging.getLogger(__name__)

POINT: Final = "refresh"
#: An error that says all there is to say.
REFUSED: Final = 'plugin "%s" cannot refresh: %s'
LATE: Final = "refresh() did not end within {:g} seconds"
#: A plugin that wants to be asked more often than this is asked this often.
SHORTEST_PERIOD: Final = 0.1


class Background:
    """The refreshes of all plugins that know something from outside. `wake` tells the queue of an event."""

    def __init__(self, profiles: Iterable[Profile], wake: Callable[[ClusterEvent], None]) -> None:
        self._plugins: list[tuple[str, BackgroundPlugin]] = [
            (name, plugin)
            for profile in profiles
            for name, plugin in profile.plugins.items()
            if isinstance(plugin, BackgroundPlugin)
        ]
        self._wake = wake
        #: By plugin: why its latest refresh failed.
        self.failures: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._plugins)

    async def refresh(self) -> None:
        """Refreshes all plugins side by side; returns after the longest deadline at the latest."""
        async with asyncio.TaskGroup() as group:
            for name, plugin in self._plugins:
                group.create_task(self._refresh_one(name, plugin), name=f"refresh {name}")

    def refresh_now(self) -> None:
        """Refreshes all plugins from code that does not wait, in real time; also where an event loop runs already."""
        if not self._plugins:
            return
        # Takes a while to import, and few simulations need it.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self.refresh()).result()

    async def run(self, sleep: Callable[[float], Awaitable[object]]) -> None:
        """Every plugin at its own pace, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, plugin in self._plugins:
                group.create_task(self._repeat(name, plugin, sleep), name=f"refresh {name}")

    async def _repeat(self, name: str, plugin: BackgroundPlugin, sleep: Callable[[float], Awaitable[object]]) -> None:
        while True:
            await sleep(max(SHORTEST_PERIOD, plugin.period_seconds))
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
        except Exception as cause:
            shown = _late(plugin, cause) if deadline.expired() else cause
            self.failures[name] = told(shown)
            log_fault(POINT, name, shown)
            return
        self.failures.pop(name, None)
        if is_news:
            self._wake(refreshed(name))


def _late(plugin: BackgroundPlugin, cause: Exception) -> TimeoutError:
    """The error of a refresh that was too late, with the frames in which it was cancelled."""
    late = TimeoutError(LATE.format(plugin.deadline_seconds))
    return late.with_traceback((cause.__cause__ or cause).__traceback__)
