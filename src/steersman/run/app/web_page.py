# SPDX-License-Identifier: Apache-2.0
"""Read-only web page of `steersman run --web`, for users who may access `/web/v1/…`.

Runs in the control loop and asks the scheduling loop for its data. Access control precedes it; it
refuses cross-site requests of browsers, which may have a client certificate.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from steersman.kube.observe import DecisionLog
from steersman.kube.serving import Answer, LoopRunner, Request
from steersman.sandbox.web import (
    PREFIX,
    ClusterFeed,
    ClusterSource,
    ConfigurationSource,
    DecisionEvents,
    EventRows,
    HistoryMark,
    HistoryPage,
    PageFiles,
    RecordedPast,
    SiteGuard,
    WebApi,
    WebHost,
    WebRefusal,
    json_page,
    mark_of,
    observed,
    refused,
)
from steersman.scheduler.assembly import Scheduler

BODY_BYTES: Final = 256 * 1024
"""Limit of a configuration for a trial, in bytes."""
MARK_SECONDS: Final = 2.0
MAX_MARKS: Final = 2000
"""Maximum number of recorded moments: more than an hour of permanent change."""


class RunPage:
    """Page of one scheduler. Created in the scheduling loop."""

    def __init__(
        self, scheduler: Scheduler, decisions: DecisionLog, ask: LoopRunner, config_file: str = "", record: str = ""
    ) -> None:
        """`config_file` is the value of --config, `record` the record's directory, or ""."""
        events = EventRows()
        scheduler.observe(DecisionEvents(events, scheduler.clock))
        _, attempts = observed(scheduler, decisions)
        host = WebHost("run", scheduler, decisions, attempts, events, ask, written=_written(config_file))
        self._history = RunHistory(record, scheduler, ask) if record else None
        if self._history is not None:
            host = self._history.shown_by(host)
        self._feed = ClusterFeed(ClusterSource(scheduler, attempts, events), ask)
        self._api = WebApi(host, self._feed)
        self._files = PageFiles()
        self._sites = SiteGuard((), "https")

    async def run(self) -> None:
        """Update the page while it is open, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed.run(), name="web page")
            if self._history is not None:
                group.create_task(self._history.run(), name="marks of the past")

    def close(self) -> None:
        """End all streams."""
        self._feed.close()

    async def answer(self, request: Request) -> Answer:
        foreign = self._sites.refusal(request)
        if foreign:
            return refused(WebRefusal(403, "Forbidden", foreign))
        if request.path.startswith(PREFIX):
            return await self._api.answer(request)
        return self._files.answer(request.path)


class RunHistory:
    """History of a recording scheduler: marks for a slider, and the pages of past moments."""

    def __init__(self, record: str, scheduler: Scheduler, ask: LoopRunner) -> None:
        self._scheduler = scheduler
        self._ask = ask
        self._begin = scheduler.clock.now()
        self._past = RecordedPast(record, scheduler.clock, scheduler.options.registry.files)
        self._marks: deque[HistoryMark] = deque(maxlen=MAX_MARKS)

    def shown_by(self, host: WebHost) -> WebHost:
        """Return the host with the history added."""
        actions = {**host.actions, "GET history": self._page}
        capabilities = (*host.more_capabilities, "history")
        return msgspec.structs.replace(host, more_capabilities=capabilities, actions=actions, past=self._past.answer)

    async def run(self) -> None:
        """Add a mark whenever the numbers have changed, until cancelled."""
        try:
            while True:
                mark = await self._ask(self._mark)
                if not self._marks or msgspec.structs.replace(mark, at=self._marks[-1].at) != self._marks[-1]:
                    self._marks.append(mark)
                await self._past.end_if_idle()
                await asyncio.sleep(MARK_SECONDS)
        finally:
            await self._past.close()

    async def _mark(self) -> HistoryMark:
        return mark_of(self._scheduler, self._scheduler.clock.now())

    async def _page(self, request: Request) -> Answer:
        return json_page(HistoryPage(self._begin, self._scheduler.clock.now(), list(self._marks)))


def _written(file: str) -> ConfigurationSource:
    """Return the configuration file's text, which may have been deleted since it was loaded."""
    try:
        return ConfigurationSource(Path(file).read_text(encoding="utf-8"), file) if file else ConfigurationSource()
    except (OSError, UnicodeDecodeError):
        return ConfigurationSource(file=file)
