# SPDX-License-Identifier: Apache-2.0
"""Web page of a scheduler: the API `/web/v1/` of `steersman sandbox` and `steersman run --web`.

    browser ─► site_guard ─► WebApi ─► pages about pods, nodes, pending pods, matrices     made in the loop that schedules
                               └────► ClusterFeed ─► one difference per tick, for all clients

A host serves a `WebHost`'s `WebApi.answer` with access control. docs/web-api.md has the API.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.sandbox.web.answers import ClockPart as ClockPart, EventRow as EventRow
    from steersman.sandbox.web.attempt_feed import AttemptFeed as AttemptFeed
    from steersman.sandbox.web.cluster_feed import ClusterFeed as ClusterFeed, ClusterSource as ClusterSource
    from steersman.sandbox.web.configuration_page import ConfigurationSource as ConfigurationSource
    from steersman.sandbox.web.event_rows import DecisionEvents as DecisionEvents, EventRows as EventRows
    from steersman.sandbox.web.file_page import FilePage as FilePage
    from steersman.sandbox.web.host import WebHost as WebHost, observed as observed
    from steersman.sandbox.web.http_api import PREFIX as PREFIX, WebApi as WebApi
    from steersman.sandbox.web.page_files import OPEN_PATHS as OPEN_PATHS, PageFiles as PageFiles
    from steersman.sandbox.web.past import HistoryMark as HistoryMark, HistoryPage as HistoryPage, mark_of as mark_of
    from steersman.sandbox.web.recorded_past import RecordedPast as RecordedPast
    from steersman.sandbox.web.refusals import (
        WebRefusal as WebRefusal,
        bad_request as bad_request,
        json_page as json_page,
        refused as refused,
    )
    from steersman.sandbox.web.site_guard import SiteGuard as SiteGuard, names_of as names_of
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "answers": "ClockPart EventRow",
            "attempt_feed": "AttemptFeed",
            "cluster_feed": "ClusterFeed ClusterSource",
            "configuration_page": "ConfigurationSource",
            "event_rows": "DecisionEvents EventRows",
            "file_page": "FilePage",
            "host": "WebHost observed",
            "http_api": "PREFIX WebApi",
            "page_files": "OPEN_PATHS PageFiles",
            "past": "HistoryMark HistoryPage mark_of",
            "recorded_past": "RecordedPast",
            "refusals": "WebRefusal bad_request json_page refused",
            "site_guard": "SiteGuard names_of",
        },
    )
