# SPDX-License-Identifier: Apache-2.0
"""The web page of `steersman run --web`: read only, on the HTTPS port, for those whom the API server lets see `/web/v1/…`.

Lives in the control loop; what belongs to the scheduling loop is asked for. Access control comes before a request gets
here. What is left are requests that a browser, which may hold a client certificate, sends for another site.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from steersman.assembly import Scheduler
from steersman.observe import DecisionLog
from steersman.serving import Ask
from steersman.serving.http import Answer, Request
from steersman.web import (
    PREFIX,
    ClusterFeed,
    ClusterSource,
    ConfigurationSource,
    DecisionEvents,
    EventRows,
    PageFiles,
    SiteGuard,
    WebApi,
    WebHost,
    WebRefusal,
    json_page,
    observed,
    refused,
)
from steersman.web.past import HistoryMark, HistoryPage, mark_of
from steersman.web.recorded_past import RecordedPast

BODY_BYTES: Final = 256 * 1024
"""A configuration that is to be tried is longer by no means."""
MARK_SECONDS: Final = 2.0
MOST_MARKS: Final = 2000
"""More than an hour in which something changes all the time."""


class RunPage:
    """The page of one scheduler. Made in the scheduling loop."""

    def __init__(
        self, scheduler: Scheduler, decisions: DecisionLog, ask: Ask, config_file: str = "", record: str = ""
    ) -> None:
        """`config_file` is what --config names, `record` the directory of the record that is written; "": there is none."""
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
        """Ticks while somebody looks, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._feed.run(), name="web page")
            if self._history is not None:
                group.create_task(self._history.run(), name="marks of the past")

    def close(self) -> None:
        """Streams end."""
        self._feed.close()

    async def answer(self, request: Request) -> Answer:
        foreign = self._sites.refusal(request)
        if foreign:
            return refused(WebRefusal(403, "Forbidden", foreign))
        if request.path.startswith(PREFIX):
            return await self._api.answer(request)
        return self._files.answer(request.path)


class RunHistory:
    """The past of a scheduler that records: marks for a slider, and the pages of former moments."""

    def __init__(self, record: str, scheduler: Scheduler, ask: Ask) -> None:
        self._scheduler = scheduler
        self._ask = ask
        self._begin = scheduler.clock.now()
        self._past = RecordedPast(record, scheduler.clock, scheduler.options.registry.files)
        self._marks: deque[HistoryMark] = deque(maxlen=MOST_MARKS)

    def shown_by(self, host: WebHost) -> WebHost:
        """The host with its past."""
        actions = {**host.actions, "GET history": self._page}
        capabilities = (*host.more_capabilities, "history")
        return msgspec.structs.replace(host, more_capabilities=capabilities, actions=actions, past=self._past.answer)

    async def run(self) -> None:
        """Marks moments in which the numbers have changed, until it is cancelled."""
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
    """The configuration as it is written; it was read before, and may be gone now."""
    try:
        return ConfigurationSource(Path(file).read_text(encoding="utf-8"), file) if file else ConfigurationSource()
    except (OSError, UnicodeDecodeError):
        return ConfigurationSource(file=file)
