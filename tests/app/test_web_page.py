# SPDX-License-Identifier: Apache-2.0
"""The page of `steersman run --web`, without the port: other sites are refused, files are open, data is JSON."""

from __future__ import annotations

import asyncio

import msgspec
from tests.web.looked_at import request

from steersman.kube.observe import DecisionLog
from steersman.kube.serving import ask_here
from steersman.kube.serving.access import OpenPaths
from steersman.run.app import ServingOptions
from steersman.run.app.endpoints import access_options
from steersman.run.app.web_page import RunPage
from steersman.testing import Harness, make_node, make_pod

OWN = {"Host": "scheduler.example:10259"}


def page_of(harness: Harness) -> RunPage:
    decisions = DecisionLog(harness.scheduler)
    harness.scheduler.observe(decisions)
    return RunPage(harness.scheduler, decisions, ask_here)


def test_it_is_read_only() -> None:
    answer = asyncio.run(page_of(Harness()).answer(request("/web/v1/info", headers=OWN)))
    info = msgspec.json.decode(answer.body)
    assert (info["host"], info["readOnly"], info["capabilities"]) == ("run", True, ["stream", "configuration", "try"])


def test_events_are_those_of_the_scheduler() -> None:
    harness = Harness(nodes=[make_node("n").capacity(cpu="2", pods="10")])
    page = page_of(harness)
    harness.place(make_pod("p").req(cpu="1"))
    harness.add(make_pod("huge").req(cpu="64"))
    harness.run()
    snapshot = msgspec.json.decode(asyncio.run(page.answer(request("/web/v1/cluster", headers=OWN))).body)
    told = {(event["reason"], event["about"]) for event in snapshot["events"]}
    assert told == {("Scheduled", "Pod default/p"), ("FailedScheduling", "Pod default/huge")}


def test_other_sites_are_refused() -> None:
    page = page_of(Harness())
    headers = {**OWN, "Origin": "https://evil.example"}
    assert asyncio.run(page.answer(request("/web/v1/info", headers=headers))).status == 403


def test_what_is_neither_file_nor_data_is_not_found() -> None:
    assert asyncio.run(page_of(Harness()).answer(request("/nothing", headers=OWN))).status == 404


def test_files_are_open_and_data_is_not() -> None:
    paths = OpenPaths(access_options(ServingOptions(web=True)).open_paths)
    assert all(path in paths for path in ("/", "/index.html", "/assets/app.js", "/healthz"))
    assert not any(path in paths for path in ("/web/v1/info", "/metrics", "/debug/cache", "/webv1"))
    assert "/" not in OpenPaths(access_options(ServingOptions()).open_paths)
