# SPDX-License-Identifier: Apache-2.0
"""Waits for work or for an event, whichever ends first."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def ended_before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Run the work until it ends (True) or until `stop` is set, which cancels it (False).
    Exceptions of the work are raised."""
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
