# SPDX-License-Identifier: Apache-2.0
"""Waiting for work or for an event, whichever comes first: the end of a process, a list that is due."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def ended_before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Runs the work until it ends (True) or, cancelling it, until `stop` is set (False). The work has ended either way; what it
    raises goes on as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work)
            stopping = group.create_task(stop.wait())
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            ended = working.done()
            working.cancel()
            stopping.cancel()
    except ExceptionGroup as raised:
        raise raised.exceptions[0] from None
    return ended
