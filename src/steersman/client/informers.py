# SPDX-License-Identifier: Apache-2.0
"""Everything that the scheduler reads, followed at once: one reflector per kind, all feeding one sink.

Pods come last: they are followed when everything they depend on is known. Scheduling starts after `wait_synced`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from steersman import api
from steersman.client.failure_log import FailureLog
from steersman.client.list_watch import ListWatch, ObjectTexts
from steersman.client.pacing import Timing
from steersman.client.raw_objects import RawObjects
from steersman.client.reflector import UNNAMED_SERVER, Reflector
from steersman.client.set_aside import SetAside
from steersman.client.transport import Transport
from steersman.framework.watching import WATCHED_KINDS, EventSink
from steersman.internal_errors import InternalErrors

UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have ended hold nothing; to a watcher they are gone."""
_SELECTORS: Final[dict[type[api.Object], str]] = {api.Pod: UNFINISHED}


class Informers:
    """The reflectors of all kinds."""

    def __init__(
        self,
        transport: Transport,
        sink: EventSink,
        timing: Timing,
        kinds: Iterable[type[api.Object]] = WATCHED_KINDS,
        raw_objects: RawObjects | None = None,
        internal_errors: InternalErrors | None = None,
        failure_log: FailureLog | None = None,
        texts: ObjectTexts | None = None,
    ) -> None:
        failures = failure_log or FailureLog(timing.clock, UNNAMED_SERVER)
        #: Objects of any kind that cannot be used.
        self.set_aside = SetAside(timing.clock)
        sources = (ListWatch(transport, kind, timing, _SELECTORS.get(kind, ""), raw_objects, texts) for kind in kinds)
        self.reflectors: Sequence[Reflector[Any]] = [
            Reflector(
                source,
                sink,
                timing,
                set_aside=self.set_aside,
                internal_errors=internal_errors,
                failure_log=failures,
            )
            for source in sources
        ]
        self._synced = asyncio.Event()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Returns when the sink knows all that was there at the start."""
        await self._synced.wait()

    async def catch_up(self, seconds: float) -> None:
        """Returns when the sink knows all that was there before this was called, as far as following broke off within the last
        seconds. A watch that goes on is never far behind; one that is being opened again may be."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                if reflector.was_interrupted(seconds):
                    group.create_task(reflector.renew(), name=f"catch up with {reflector.kind.PLURAL}")

    def objects(self) -> list[api.Object]:
        """Everything that the sink works with."""
        return [obj for reflector in self.reflectors for obj in reflector.objects.values()]

    def not_synced(self) -> list[Reflector[Any]]:
        """The reflectors that everybody waits for; each says what went wrong."""
        return [reflector for reflector in self.reflectors if not reflector.has_synced]

    async def run(self) -> None:
        """Follows all kinds until it is cancelled."""
        last = [reflector for reflector in self.reflectors if reflector.kind is api.Pod]
        first = [reflector for reflector in self.reflectors if reflector.kind is not api.Pod]
        async with asyncio.TaskGroup() as group:
            for wave in (first, last):
                for reflector in wave:
                    group.create_task(reflector.run(), name=f"follow {reflector.kind.PLURAL}")
                for reflector in wave:
                    await reflector.wait_synced()
            self._synced.set()
