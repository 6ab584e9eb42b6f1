# SPDX-License-Identifier: Apache-2.0
"""Program that feeds a follower from informers and processes changes with a delay.

Sends only lists and watches. There is no lease, event or other write: the fence in front of the
transport stays closed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from steersman import api
from steersman.base import SteersmanError, Timing, ended_before
from steersman.explain.live import LiveError, granted
from steersman.framework import resource_text
from steersman.kube.client import (
    ApiError,
    ApiServerReader,
    FailureLog,
    Informers,
    Request,
    RequestChain,
    Transport,
    WriteFence,
    is_absent,
    may_be_absent,
    paths,
)
from steersman.run.app import EffectiveSettings
from steersman.run.shadow.comparison import DecisionComparison
from steersman.run.shadow.differences import DifferenceWriter
from steersman.run.shadow.follower import DecisionMoment, ShadowFollower
from steersman.run.shadow.pages import pages_served
from steersman.run.shadow.summary import ShadowMetrics, ShadowSummary

logger = logging.getLogger(__name__)

HOLD_SECONDS: Final = 1.0
"""Delay between seeing a decision and reviewing it."""
_POLL_SECONDS: Final = 0.05
_SLICE_SECONDS: Final = 0.02
_SHOW_SECONDS: Final = 1.0


class ShadowOptions(msgspec.Struct, frozen=True):
    """Options besides the configuration."""

    hold: float = HOLD_SECONDS
    #: Duration in seconds; None to run until a signal.
    duration: float | None = None
    #: Number of decisions after which to stop; None for no limit.
    decisions: int | None = None
    #: Listen address of the metrics; port 0 for none.
    address: str = "127.0.0.1"
    port: int = 0


class ShadowScreen(msgspec.Struct, frozen=True):
    """Callbacks that show the progress of a shadow."""

    #: Called with the numbers of nodes and pods when comparisons begin.
    begun: Callable[[int, int], None] = lambda nodes, pods: None
    compared: Callable[[DecisionComparison], None] = lambda comparison: None
    #: Called about once a second.
    shown: Callable[[ShadowSummary], None] = lambda summary: None


class Shadow:
    """One run beside another scheduler."""

    def __init__(
        self,
        settings: EffectiveSettings,
        options: ShadowOptions,
        transport: Transport,
        timing: Timing,
        server: str,
        screen: ShadowScreen,
        writer: DifferenceWriter | None = None,
    ) -> None:
        """Connect the follower to the informers; `server` is the address for the log."""
        # This fence is never opened: a shadow does not write.
        reading = RequestChain(transport, fence=WriteFence(timing.clock))
        self.summary = ShadowSummary()
        self.metrics = ShadowMetrics()
        #: Transport for all reads.
        self.transport = reading
        self._server = server
        self._options = options
        self._timing = timing
        self._screen = screen
        self._writer = writer
        self.follower = ShadowFollower(
            settings,
            timing.clock,
            self._compared,
            writer.wants_more if writer is not None else lambda: False,
            ApiServerReader(reading, timing),
        )
        self._informers = Informers(
            reading,
            self.follower,
            timing,
            self.follower.model.scheduler.watched_kinds,
            failure_log=FailureLog(timing.clock, server),
        )
        self._enough = asyncio.Event()

    async def check_rights(self) -> None:
        """Raise `LiveError` with the missing right if a watched kind cannot be listed."""
        for kind in self.follower.model.scheduler.watched_kinds:
            try:
                await granted(self._first_page(kind), self._server, "list", resource_text(kind))
            except ApiError as refusal:
                raise LiveError(f"cannot list {resource_text(kind)}: {refusal}") from refusal

    async def _first_page(self, kind: type[api.Object]) -> None:
        """List one object. Raise `ApiError` unless the kind may be absent, and is."""
        try:
            await self.transport.request(Request("GET", paths.collection(kind), {"limit": "1"}))
        except ApiError as refusal:
            if not may_be_absent(kind) or not await is_absent(self.transport, kind, refusal):
                raise

    async def run(self, stop: asyncio.Event) -> ShadowSummary:
        """Follow and compare until `stop`, the end of the duration, or enough decisions."""
        async with AsyncExitStack() as opened, asyncio.TaskGroup() as group:
            if self._options.port:
                await opened.enter_async_context(
                    pages_served(self._options.address, self._options.port, self._rendered, self._has_begun)
                )
            following = group.create_task(self._informers.run(), name="informers")
            if await ended_before(stop, self._informers.wait_synced()):
                await self._begin()
                await self._until_end(stop)
            following.cancel()
        self._settle_all()
        return self.summary

    async def _begin(self) -> None:
        scheduler = self.follower.model.scheduler
        await scheduler.background.refresh()
        self.follower.begin()
        self._screen.begun(scheduler.cache.nodes.node_count, scheduler.cache.pod_count)

    async def _until_end(self, stop: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._options.duration):
                await ended_before(stop, self._compare())
        except TimeoutError:
            return

    async def _compare(self) -> None:
        shown = self._now()
        while not self._enough.is_set():
            await self._settle(self._now() - self._options.hold)
            if self._now() - shown >= _SHOW_SECONDS:
                shown = self._now()
                self._screen.shown(self.summary)
            await self._timing.sleep(_POLL_SECONDS)

    async def _settle(self, until: float) -> None:
        """Process the changes that are due, yielding to other tasks in between."""
        began = time.monotonic()
        for _ in self.follower.settle(until):
            if self._enough.is_set():
                return
            if time.monotonic() - began > _SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()

    def _settle_all(self) -> None:
        """Process all remaining changes at the end, when no more events will come."""
        for _ in self.follower.settle(float("inf")):
            if self._enough.is_set():
                break
        self._screen.shown(self.summary)

    def _compared(self, comparison: DecisionComparison, snapshot: DecisionMoment | None) -> None:
        if snapshot is not None and self._writer is not None:
            comparison = self._written(comparison, snapshot, self._writer)
        self.summary.add(comparison)
        self.metrics.add(comparison)
        self._screen.compared(comparison)
        most = self._options.decisions
        if most is not None and self.summary.total >= most:
            self._enough.set()

    def _written(
        self, comparison: DecisionComparison, snapshot: DecisionMoment, writer: DifferenceWriter
    ) -> DecisionComparison:
        try:
            return writer.write(comparison, snapshot)
        except SteersmanError as failure:
            logger.warning("%s", failure)
            return comparison

    def _now(self) -> float:
        return self._timing.clock.monotonic()

    def _has_begun(self) -> bool:
        return self._informers.has_synced

    def _rendered(self) -> bytes:
        held, metrics = self.follower.held, self.metrics
        oldest = held.oldest()
        metrics.held.set(len(held))
        metrics.lag.set(0.0 if oldest is None else self._now() - oldest.moment)
        metrics.tracked.set(self.follower.review.tracker.confirmed)
        metrics.lost.set(self.follower.review.tracker.lost)
        return metrics.render()
