# SPDX-License-Identifier: Apache-2.0
"""Updates of pods' status that nobody waits for: one at a time per pod, and of several that wait, one that says it all.

The dispatcher puts failures in; workers send them. However slow the server is, no more wait than there are pods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from steersman import api
from steersman.client.status_patch import StatusUpdate
from steersman.errors import SteersmanError
from steersman.internal_errors import InternalErrors

logger = logging.getLogger(__name__)

WORKERS: Final = 16
NOT_UPDATED: Final = "the status of pod %s cannot be updated: %s"

Send = Callable[[StatusUpdate], Awaitable[object]]


class StatusUpdates:
    """By uid. Invariant: a uid that waits is in the queue or being sent."""

    def __init__(self, send: Send, internal_errors: InternalErrors | None = None) -> None:
        self._send = send
        self._internal_errors = internal_errors or InternalErrors()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: dict[str, StatusUpdate] = {}
        #: Set when the update of the uid has been sent.
        self._in_flight: dict[str, asyncio.Event] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        #: Updates that will never be written.
        self.dropped = 0

    def __len__(self) -> int:
        """How many wait or are being sent."""
        return len(self._waiting) + len(self._in_flight)

    def put(self, update: StatusUpdate) -> None:
        if self._is_closed:
            self.dropped += 1
            return
        uid = update.pod.metadata.uid
        earlier = self._waiting.get(uid)
        self._waiting[uid] = update if earlier is None else update.after(earlier)
        self._idle.clear()
        if earlier is None and uid not in self._in_flight:
            self._queue.put_nowait(uid)

    async def withdraw(self, uid: str) -> None:
        """What waits is not sent any more; returns when what is being sent has arrived."""
        self._waiting.pop(uid, None)
        in_flight = self._in_flight.get(uid)
        if in_flight is not None:
            await in_flight.wait()
        self._note_idle()

    def close(self) -> None:
        """Drops what waits and whatever is put in from now on."""
        self._is_closed = True
        self.dropped += len(self._waiting)
        self._waiting.clear()
        self._note_idle()

    async def drain(self) -> None:
        """Returns when nothing waits and nothing is being sent."""
        await self._idle.wait()

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            # Not there: withdrawn. Being sent: that was queued before a withdrawal, and whoever sends it looks again.
            if uid in self._waiting and uid not in self._in_flight:
                await self._send_one(uid, self._waiting.pop(uid))

    async def _send_one(self, uid: str, update: StatusUpdate) -> None:
        sent = self._in_flight[uid] = asyncio.Event()
        try:
            await self._send(update)
        except SteersmanError as failure:
            self.dropped += 1
            logger.warning(NOT_UPDATED, api.key(update.pod), failure)
        except Exception as error:
            self.dropped += 1
            self._internal_errors.survived("status update", f"Pod {api.key(update.pod)}", error)
        finally:
            del self._in_flight[uid]
            sent.set()
            if uid in self._waiting:
                self._queue.put_nowait(uid)
            self._note_idle()

    def _note_idle(self) -> None:
        if not len(self):
            self._idle.set()
