# SPDX-License-Identifier: Apache-2.0
"""The web page of a scheduler: one API (`/web/v1/`), served by `steersman sandbox` and `steersman run --web`.

    browser ─► site_guard ─► WebApi ─► pages about pods, nodes, pending pods, matrices     made in the loop that schedules
                               └────► ClusterFeed ─► one difference per tick, for all clients

A host makes a `WebHost` and puts `WebApi.answer` behind its own access control. docs/web-api.md documents what is served.
"""

from steersman.web.answers import ClockPart, EventRow
from steersman.web.attempt_feed import AttemptFeed
from steersman.web.cluster_feed import ClusterFeed, ClusterSource
from steersman.web.configuration_page import ConfigurationSource
from steersman.web.event_rows import DecisionEvents, EventRows
from steersman.web.host import WebHost, observed
from steersman.web.http_api import PREFIX, WebApi
from steersman.web.page_files import OPEN_PATHS, PageFiles
from steersman.web.refusals import WebRefusal, bad_request, json_page, refused
from steersman.web.site_guard import SiteGuard, names_of

__all__ = [
    "OPEN_PATHS",
    "PREFIX",
    "AttemptFeed",
    "ClockPart",
    "ClusterFeed",
    "ClusterSource",
    "ConfigurationSource",
    "DecisionEvents",
    "EventRow",
    "EventRows",
    "PageFiles",
    "SiteGuard",
    "WebApi",
    "WebHost",
    "WebRefusal",
    "bad_request",
    "json_page",
    "names_of",
    "observed",
    "refused",
]
