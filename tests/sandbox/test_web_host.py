# SPDX-License-Identifier: Apache-2.0
"""The page of a sandbox: for whoever has the token, and for no other site."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.web.looked_at import LookedAt, request

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import Store
from steersman.kube.serving.http import Answer
from steersman.sandbox.event_objects import EventObjects
from steersman.sandbox.web import EventRows, PageFiles
from steersman.sandbox.web_host import BODY_BYTES, IMPORT_BYTES, TokenGuard, follow_events
from steersman.scheduler.host import TimerHeap
from steersman.testing import Harness, make_node, make_pod

OWN = {"Host": "127.0.0.1:8080", "Authorization": "Bearer secret"}


@pytest.fixture
def guard(tmp_path: Path) -> TokenGuard:
    return TokenGuard("secret", LookedAt(Harness(nodes=[make_node("n")])).api.answer, PageFiles(tmp_path))


def asked(guard: TokenGuard, path: str, method: str = "GET", **headers: str) -> Answer:
    return asyncio.run(guard.answer(request(path, method, headers=headers)))


def test_who_has_the_token_sees_data_that_is_not_kept(guard: TokenGuard) -> None:
    answer = asked(guard, "/web/v1/info", **OWN)
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer other", "Basic secret", "Bearer s\udcffcret"])
def test_without_the_token_there_is_no_data(guard: TokenGuard, token: str) -> None:
    assert asked(guard, "/web/v1/info", **{**OWN, "Authorization": token}).status == 401


def test_a_token_in_the_address_is_not_examined(guard: TokenGuard) -> None:
    assert asked(guard, "/web/v1/info?token=secret", Host="127.0.0.1").status == 401


def test_files_need_no_token(guard: TokenGuard) -> None:
    assert b"make web" in asked(guard, "/", Host="localhost:1").body


@pytest.mark.parametrize("more", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
@pytest.mark.parametrize("path", ["/", "/web/v1/info"])
def test_another_site_gets_neither_files_nor_data(guard: TokenGuard, path: str, more: dict[str, str]) -> None:
    assert asked(guard, path, **{**OWN, **more}).status == 403


def test_files_are_read_and_nothing_else(guard: TokenGuard) -> None:
    assert asked(guard, "/", "POST", **OWN).status == 405


def test_bodies_of_strangers_are_not_read(guard: TokenGuard) -> None:
    path = "/web/v1/import"
    assert guard.body_limit(request(path, "POST", headers={"Host": "localhost"})) == 0
    assert guard.body_limit(request(path, "POST", headers={**OWN, "Origin": "http://evil.example"})) == 0
    assert guard.body_limit(request(path, "POST", headers=OWN)) == IMPORT_BYTES
    assert guard.body_limit(request("/web/v1/clock", "POST", headers=OWN)) == BODY_BYTES


def test_events_of_the_store_are_reported() -> None:
    store, rows = Store(ManualClock(), keeps_documents=True), EventRows()
    store.create(api.Namespace(metadata=api.ObjectMeta(name="default")))
    follow_events(store, rows)
    EventObjects(store, TimerHeap()).record(make_pod("p").obj(), "Pulled", "there", is_warning=True)
    (row,) = rows.recent(10)
    assert (row.type, row.reason, row.about, row.message) == ("Warning", "Pulled", "Pod default/p", "there")
