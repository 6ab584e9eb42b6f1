# SPDX-License-Identifier: Apache-2.0
"""The web page of `steersman run --web`: read only, on the HTTPS port, for those whom the API server lets see `/web/v1/…`.

Lives in the control loop; what belongs to the scheduling loop is asked for. Access control comes before a request gets
here. What is left are requests that a browser, which may hold a client certificate, sends for another site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

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
    observed,
    refused,
)

BODY_BYTES: Final = 256 * 1024
"""A configuration that is to be tried is longer by no means."""


class RunPage:
    """The page of one scheduler. Made in the scheduling loop."""

    def __init__(self, scheduler: Scheduler, decisions: DecisionLog, ask: Ask, config_file: str = "") -> None:
        """`config_file` is what --config names; "": there is none."""
        events = EventRows()
        scheduler.observe(DecisionEvents(events, scheduler.clock))
        _, attempts = observed(scheduler, decisions)
        host = WebHost("run", scheduler, decisions, attempts, events, ask, written=_written(config_file))
        self._feed = ClusterFeed(ClusterSource(scheduler, attempts, events), ask)
        self._api = WebApi(host, self._feed)
        self._files = PageFiles()
        self._sites = SiteGuard((), "https")

    async def run(self) -> None:
        """Ticks while somebody looks, until it is cancelled."""
        await self._feed.run()

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


def _written(file: str) -> ConfigurationSource:
    """The configuration as it is written; it was read before, and may be gone now."""
    try:
        return ConfigurationSource(Path(file).read_text(encoding="utf-8"), file) if file else ConfigurationSource()
    except (OSError, UnicodeDecodeError):
        return ConfigurationSource(file=file)
