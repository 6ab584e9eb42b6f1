# SPDX-License-Identifier: Apache-2.0
"""Status updates of pods and pod groups: patches of a condition or the nominated node, and their
queue.

The patch is a strategic merge patch of the differences. The dispatcher queues updates after
failures; workers send them, one at a time per object. Queued updates of one object are merged, so
that there are at most as many as objects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.base import InternalErrors, SteersmanError

logger = logging.getLogger(__name__)

WORKERS: Final = 16
NOT_UPDATED: Final = "the status of %s %s cannot be updated: %s"


# -- the patch ---------------------------------------------------------------------------------------------------------


class StatusUpdate(msgspec.Struct, frozen=True):
    """A change of an object's status; None leaves a field unchanged. Groups have no nominated
    node."""

    obj: api.Pod | api.PodGroup
    condition: api.Condition | None = None
    nominated_node_name: str | None = None

    def after(self, earlier: StatusUpdate) -> StatusUpdate:
        """Merge with an earlier update; the later one wins."""
        condition = earlier.condition if self.condition is None else self.condition
        nominated = earlier.nominated_node_name if self.nominated_node_name is None else self.nominated_node_name
        return StatusUpdate(self.obj, condition, nominated)


def patch_for(update: StatusUpdate, now: float) -> bytes | None:
    """Return the patch; None if the object needs no change. The uid is a precondition, so that
    another object of the same name does not change."""
    obj = update.obj
    status: dict[str, Any] = {}
    condition = update.condition and _differing(obj, update.condition, now)
    if condition:
        # Without a message, the patch would keep the one of the earlier condition.
        status["conditions"] = [{"message": "", **msgspec.to_builtins(condition)}]
    nominated = update.nominated_node_name
    if isinstance(obj, api.Pod) and nominated is not None and nominated != obj.status.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    if not status:
        return None
    metadata = {"uid": obj.metadata.uid} if obj.metadata.uid else {}
    return msgspec.json.encode({"metadata": metadata, "status": status})


def _differing(obj: api.Pod | api.PodGroup, condition: api.Condition, now: float) -> api.Condition | None:
    """Return the condition to write; None if the object has it, or the group was scheduled before.

    The transition time changes only with the status. A different generation of a pod alone does not
    count.
    """
    old = next((known for known in obj.status.conditions if known.type == condition.type), None)
    since = timestamps.render(now)
    if old is not None and old.status == condition.status:
        is_current = isinstance(obj, api.Pod) or old.observed_generation == condition.observed_generation
        if is_current and (old.reason, old.message) == (condition.reason, condition.message):
            return None
        since = old.last_transition_time or since
    elif old is not None and old.status == "True" and condition.type == api.INITIALLY_SCHEDULED:
        return None
    return msgspec.structs.replace(
        condition,
        last_transition_time=since,
        observed_generation=condition.observed_generation or obj.metadata.generation,
    )


def _noun(obj: api.Pod | api.PodGroup) -> str:
    return "pod" if isinstance(obj, api.Pod) else "pod group"


# -- the queue ---------------------------------------------------------------------------------------------------------

Send = Callable[[StatusUpdate], Awaitable[object]]
#: Log a failed update; return whether its cause is reported for all requests together.
ReportFailure = Callable[[SteersmanError], bool]


class StatusUpdates:
    """Queued and in-flight updates by uid. Every waiting uid is queued or in flight."""

    def __init__(
        self,
        send: Send,
        internal_errors: InternalErrors | None = None,
        report_failure: ReportFailure = lambda failure: False,
    ) -> None:
        self._send = send
        self._report_failure = report_failure
        self._internal_errors = internal_errors or InternalErrors()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: dict[str, StatusUpdate] = {}
        #: Set when the update of the uid has been sent.
        self._in_flight: dict[str, asyncio.Event] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False
        #: Number of dropped updates.
        self.dropped = 0

    def __len__(self) -> int:
        """Number of updates that are queued or being sent."""
        return len(self._waiting) + len(self._in_flight)

    def put(self, update: StatusUpdate) -> None:
        if self._is_closed:
            self.dropped += 1
            return
        uid = update.obj.metadata.uid
        earlier = self._waiting.get(uid)
        self._waiting[uid] = update if earlier is None else update.after(earlier)
        self._idle.clear()
        if earlier is None and uid not in self._in_flight:
            self._queue.put_nowait(uid)

    def concerns(self, uid: str) -> bool:
        """Return whether an update of the pod is queued or being sent."""
        return uid in self._waiting or uid in self._in_flight

    async def withdraw(self, uid: str) -> None:
        """Remove the queued update of a pod, and wait for one that is being sent."""
        self._waiting.pop(uid, None)
        in_flight = self._in_flight.get(uid)
        if in_flight is not None:
            await in_flight.wait()
        self._note_idle()

    def close(self) -> None:
        """Drop queued updates, and everything added later."""
        self._is_closed = True
        self.dropped += len(self._waiting)
        self._waiting.clear()
        self._note_idle()

    async def drain(self) -> None:
        """Wait until nothing is queued or being sent."""
        await self._idle.wait()

    async def run(self) -> None:
        """Send queued updates, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            # Not waiting: it was withdrawn. In flight: `_send_one` queues the uid again afterwards.
            if uid in self._waiting and uid not in self._in_flight:
                await self._send_one(uid, self._waiting.pop(uid))

    async def _send_one(self, uid: str, update: StatusUpdate) -> None:
        sent = self._in_flight[uid] = asyncio.Event()
        try:
            await self._send(update)
        except SteersmanError as failure:
            self.dropped += 1
            level = logging.DEBUG if self._report_failure(failure) else logging.WARNING
            logger.log(level, NOT_UPDATED, _noun(update.obj), api.key(update.obj), failure)
        except Exception as error:
            self.dropped += 1
            self._internal_errors.survived("status update", f"{update.obj.KIND} {api.key(update.obj)}", error)
        finally:
            del self._in_flight[uid]
            sent.set()
            if uid in self._waiting:
                self._queue.put_nowait(uid)
            self._note_idle()

    def _note_idle(self) -> None:
        if not len(self):
            self._idle.set()
