# SPDX-License-Identifier: Apache-2.0
"""Events that the server did not take, told together: a namespace that is deleted refuses a hundred of them within a second."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from steersman.client.errors import ApiError
from steersman.client.pacing import Timing
from steersman.errors import SteersmanError

logger = logging.getLogger(__name__)

#: So long refusals are collected before they are told.
COLLECT_SECONDS: Final = 1.0
ONE: Final = "an event about pod %s/%s is dropped: %s"
SEVERAL: Final = "%d events about pods of namespace %s are dropped, the last about %s: %s"


class _Refusals(msgspec.Struct):
    """Refused events of one namespace and one kind of refusal."""

    count: int = 0
    pod: str = ""
    reason: str = ""


class DroppedEvents:
    """The events that were dropped and not yet told."""

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], _Refusals] = {}
        self._has_some = asyncio.Event()

    def add(self, namespace: str, pod: str, failure: SteersmanError) -> None:
        """Texts of refusals name the event, so that alike ones are told apart by code and reason only."""
        kind = f"{failure.code} {failure.reason}" if isinstance(failure, ApiError) else type(failure).__name__
        refusals = self._refusals.setdefault((namespace, kind), _Refusals())
        refusals.count += 1
        refusals.pod, refusals.reason = pod, str(failure)
        self._has_some.set()

    async def run(self, timing: Timing) -> None:
        """Tells of what is dropped until it is cancelled."""
        try:
            while True:
                await self._has_some.wait()
                await timing.sleep(COLLECT_SECONDS)
                self.tell()
        finally:
            self.tell()

    def tell(self) -> None:
        for (namespace, _), refusals in self._refusals.items():
            if refusals.count == 1:
                logger.warning(ONE, namespace, refusals.pod, refusals.reason)
            else:
                logger.warning(SEVERAL, refusals.count, namespace, refusals.pod, refusals.reason)
        self._refusals.clear()
        self._has_some.clear()
