# SPDX-License-Identifier: Apache-2.0
"""Tasks of a running scheduler that end in order: bindings in flight.

`Bindings` holds what the scheduler hands to its host: at shutdown it finishes or is undone. A task that breaks ends alone: the
others, and the scheduler, go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Final, Self

from steersman.internal_errors import InternalErrors

TASK: Final = "task"

logger = logging.getLogger(__name__)


class Bindings:
    """Tasks of one group; `spawn` works inside of the `async with` block, whose end undoes what is left."""

    def __init__(self, internal_errors: InternalErrors | None = None) -> None:
        self._internal_errors = internal_errors or InternalErrors()
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
        task = self._group.create_task(_Surviving(work, self._internal_errors))
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


class _Surviving(Coroutine[Any, Any, None]):
    """A coroutine that ends where the one inside of it breaks. Every step goes through, also the cancellation of one that has
    not begun: `binding.guarded` cleans up then."""

    def __init__(self, work: Coroutine[Any, Any, None], internal_errors: InternalErrors) -> None:
        self._work = work
        self._internal_errors = internal_errors

    def send(self, value: Any, /) -> Any:
        return self._step(self._work.send, value)

    def throw(self, kind: Any, value: object = None, trace: TracebackType | None = None, /) -> Any:
        return self._step(self._work.throw, kind) if value is None else self._step(self._work.throw, kind, value, trace)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        return self._work.__await__()

    def _step(self, resume: Callable[..., Any], *given: Any) -> Any:
        try:
            return resume(*given)
        except StopIteration:
            raise
        except Exception as error:
            self._internal_errors.survived(TASK, "a binding or preemption", error)
            raise StopIteration from error
