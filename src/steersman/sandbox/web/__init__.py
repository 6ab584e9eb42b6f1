# SPDX-License-Identifier: Apache-2.0
"""Web page of a scheduler: the API `/web/v1/` of `steersman sandbox` and `steersman run --web`.

    browser ─► site_guard ─► WebApi ─► pages about pods, nodes, pending pods, matrices     made in the loop that schedules
                               └────► ClusterFeed ─► one difference per tick, for all clients

A host serves a `WebHost`'s `WebApi.answer` with access control. docs/web-api.md has the API.
"""

from steersman.base import lazy_exports

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
