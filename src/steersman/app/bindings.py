"""Bindings in flight, and other tasks that the scheduler hands to its host: at shutdown they finish or are undone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

logger = logging.getLogger(__name__)


class Bindings:
    """Tasks of one group; `spawn` works inside of the `async with` block, whose end undoes what is left."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel()
        await self._group.__aexit__(kind, error, trace)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, seconds: float) -> None:
        """Returns when nothing is in flight; what takes longer than so many seconds is undone."""
        try:
            async with asyncio.timeout(seconds):
                await self._all_done()
        except TimeoutError:
            logger.warning("%d bindings did not finish within %g seconds and are undone", len(self), seconds)
            await self.undo()

    async def undo(self) -> None:
        """Each task cleans up as it is cancelled: nothing stays reserved."""
        self._cancel()
        await self._all_done()

    async def _all_done(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
