# SPDX-License-Identifier: Apache-2.0
"""Waiting for one of two things without leaving the other behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def ended_before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Runs the work until it ends (True) or, cancelling it, until `stop` is set (False). The work has ended either way."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        stopping = group.create_task(stop.wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        ended = working.done()
        working.cancel()
        stopping.cancel()
    return ended
