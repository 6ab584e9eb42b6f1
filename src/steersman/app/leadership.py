# SPDX-License-Identifier: Apache-2.0
"""A term of office between the two threads: the election stands in the control loop, the leader works in the scheduling loop.

control loop      acquire ─► hold, renewing ───────────────────────► release, or LeaseLost
                        │                          ▲                          │
scheduling loop      elected ─► lead ─► ended ─► resign                  lost: everything ends at once
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from steersman.app.control_thread import ControlThread
from steersman.client import LeaderElection, LeaseLost

logger = logging.getLogger(__name__)


class Leadership:
    """Made in the scheduling loop; its methods are called there."""

    def __init__(self, election: LeaderElection, thread: ControlThread) -> None:
        self._election = election
        self._thread = thread
        self._scheduling_loop = asyncio.get_running_loop()
        self._elected = asyncio.Event()
        #: Both belong to the control loop.
        self._resigned = asyncio.Event()
        self._holds = False

    async def serve(self, stop: asyncio.Event, lead: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Stands for election and leads, once. False: the lease was lost, and what `lead` did has been cancelled. A leader ends
        by itself when it is to stop; a candidate gives up when `stop` is set."""
        term = self._thread.begin(self._stand())
        try:
            async with asyncio.TaskGroup() as group:
                leading = group.create_task(self._lead_when_elected(stop, lead), name="lead")
                await asyncio.wait((leading, term), return_when=asyncio.FIRST_COMPLETED)
                leading.cancel()
        finally:
            self._tell(self._resigned.set)
            if not term.done():
                await asyncio.wait((term,))
        return _is_in_order(term)

    async def _lead_when_elected(self, stop: asyncio.Event, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(event.wait()) for event in (self._elected, stop)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        if self._elected.is_set():
            await lead()

    def _tell(self, what: Callable[[], None]) -> None:
        self._thread.loop.call_soon_threadsafe(what)

    # -- in the control loop -----------------------------------------------------------------------------------------

    async def _stand(self) -> None:
        async with asyncio.TaskGroup() as group:
            election = group.create_task(self._election.run(self._hold), name="leader election")
            resigning = group.create_task(self._resigned.wait())
            await asyncio.wait((election, resigning), return_when=asyncio.FIRST_COMPLETED)
            resigning.cancel()
            if not self._holds:
                election.cancel()

    async def _hold(self) -> None:
        """Holds the lease until the leader has ended its work."""
        self._holds = True
        self._scheduling_loop.call_soon_threadsafe(self._elected.set)
        await self._resigned.wait()


def _is_in_order(term: asyncio.Future[None]) -> bool:
    """False: the lease was lost. Raises what else went wrong."""
    if term.cancelled() or (failure := term.exception()) is None:
        return True
    if isinstance(failure, BaseExceptionGroup) and failure.subgroup(LeaseLost) is not None:
        logger.error("%s", failure.exceptions[0])
        return False
    raise failure
