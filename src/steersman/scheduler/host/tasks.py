# SPDX-License-Identifier: Apache-2.0
"""Background tasks of a host, which end with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class HostTasks:
    """Tasks of a group that can be cancelled together; `create_task` also serves as a scheduler's
    `Spawn`."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[None]] = set()

    def create_task(self, work: Coroutine[Any, Any, None], *, name: str | None = None) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()
