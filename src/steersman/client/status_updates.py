# SPDX-License-Identifier: Apache-2.0
"""Updates of pods' status: the patch that sets a condition or the nominated node, and the queue of those nobody waits for.

The patch is a strategic merge of nothing but what differs. The dispatcher puts failures into the queue and its workers send
them: one at a time per pod, and of several that wait, one that says it all. However slow the server is, no more wait than
there are pods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.errors import SteersmanError
from steersman.internal_errors import InternalErrors

logger = logging.getLogger(__name__)

WORKERS: Final = 16
NOT_UPDATED: Final = "the status of pod %s cannot be updated: %s"


# -- the patch ---------------------------------------------------------------------------------------------------------


class StatusUpdate(msgspec.Struct, frozen=True):
    """A change of a pod's status; what is None stays as it is."""

    pod: api.Pod
    condition: api.Condition | None = None
    nominated_node_name: str | None = None

    def after(self, earlier: StatusUpdate) -> StatusUpdate:
        """Both updates in one: what this one leaves open is as the earlier one wanted it."""
        condition = earlier.condition if self.condition is None else self.condition
        nominated = earlier.nominated_node_name if self.nominated_node_name is None else self.nominated_node_name
        return StatusUpdate(self.pod, condition, nominated)


def patch_for(update: StatusUpdate, now: float) -> bytes | None:
    """The patch; None when the pod is already as wanted. Another pod of the same name is not touched: the uid is a
    precondition."""
    status: dict[str, Any] = {}
    condition = update.condition and _differing(update.pod, update.condition, now)
    if condition:
        status["conditions"] = [condition]
    nominated = update.nominated_node_name
    if nominated is not None and nominated != update.pod.status.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    if not status:
        return None
    metadata = {"uid": update.pod.metadata.uid} if update.pod.metadata.uid else {}
    return msgspec.json.encode({"metadata": metadata, "status": status})


def _differing(pod: api.Pod, condition: api.Condition, now: float) -> api.Condition | None:
    """The condition as it is to be written, None if the pod has it.

    The time of the last transition stays while the status does. A generation alone makes no difference.
    """
    old = next((known for known in pod.status.conditions if known.type == condition.type), None)
    since = timestamps.render(now)
    if old is not None and old.status == condition.status:
        if (old.reason, old.message) == (condition.reason, condition.message):
            return None
        since = old.last_transition_time or since
    return msgspec.structs.replace(
        condition,
        last_transition_time=since,
        observed_generation=condition.observed_generation or pod.metadata.generation,
    )


# -- the queue ---------------------------------------------------------------------------------------------------------

Send = Callable[[StatusUpdate], Awaitable[object]]


class StatusUpdates:
    """Updates that wait or are being sent, by the pod's uid. Invariant: a uid that waits is in the queue or being sent."""

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

    def concerns(self, uid: str) -> bool:
        """Whether an update of the pod waits or is being sent."""
        return uid in self._waiting or uid in self._in_flight

    async def withdraw(self, uid: str) -> None:
        """Takes back the update that waits; returns when the one that is being sent has arrived."""
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
        """Sends what is put in, until it is cancelled."""
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
