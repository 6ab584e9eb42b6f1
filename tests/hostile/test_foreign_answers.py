# SPDX-License-Identifier: Apache-2.0
"""`steersman run` survives extenders and API servers that answer nonsense, and goes on as soon as they make sense again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.extender_server import Body, ExtenderServer
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import (
    ACCESS_REVIEWS,
    ADMIN_TOKEN,
    AUTHENTICATION,
    PODS,
    TOKEN_REVIEWS,
    Canned,
    StubApiServer,
)

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until

HTML = b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"
DEEP = b"[" * 50_000 + b"]" * 50_000
LICENCE = "example.com/licence"
MOST_MEMORY = 500 << 20
"""Bytes of a scheduler of two nodes; it takes some 80 MB by itself."""

ANSWERS: dict[str, Callable[[], Body]] = {
    "invalid UTF-8": lambda: b'{"NodeNames": ["n0\xff\xfe"], "Error": "\xff"}',
    "deep JSON": lambda: b'{"NodeNames": ' + DEEP + b"}",
    "a number without end": lambda: b'{"NodeNames": ' + b"9" * 10_000 + b"}",
    "HTML": lambda: HTML,
    "a body without end": lambda: itertools.repeat(b" " * (1 << 16)),
}


def test_an_ignorable_extender_is_left_out_whatever_it_answers(tmp_path: Path) -> None:
    with StubApiServer() as server, ExtenderServer() as extender:
        config = {"extenders": [extender.settings(ignorable=True)]}
        with SteersmanProcess(with_nodes(server), tmp_path, config=config) as steersman:
            for number, answer in enumerate(ANSWERS.values(), start=1):
                extender.body = answer()
                assert schedules_pods(server, f"web-{number}")
                assert extender.asked >= number
                assert steersman.is_alive()
            assert steersman.peak_rss() < MOST_MEMORY


def condition_of_licensed_pod(server: StubApiServer, number: int) -> dict[str, Any]:
    """Of a pod that only the extender can place."""
    server.put(PODS, manifest(make_pod(f"licensed-{number}").req(**{LICENCE: "1"})))
    pod = f"default/licensed-{number}"
    return wait_until(lambda: server.conditions(pod).get("PodScheduled", {}), what=f"a condition of {pod}")


def bindings_become(server: StubApiServer, count: int) -> None:
    wait_until(lambda: len(server.bindings()) == count, what=f"{count} bindings")


def test_any_other_fails_its_pods_until_it_makes_sense_again(tmp_path: Path) -> None:
    with StubApiServer() as server, ExtenderServer() as extender:
        managed = [{"name": LICENCE, "ignoredByScheduler": True}]
        config = {"extenders": [extender.settings(managedResources=managed)]}
        with SteersmanProcess(with_nodes(server), tmp_path, config=config) as steersman:
            for number, answer in enumerate(ANSWERS.values()):
                extender.body = answer()
                assert condition_of_licensed_pod(server, number)["reason"] == "SchedulerError"
                assert schedules_pods(server, f"another-{number}")
                extender.body = None
                bindings_become(server, 2 * (number + 1))
            assert steersman.is_alive()
            assert steersman.peak_rss() < MOST_MEMORY


@pytest.mark.parametrize("body", [HTML, b'{"data": ' + DEEP + b"}"], ids=["HTML", "deep JSON"])
def test_nonsense_in_place_of_the_authentication_config_map_is_said_and_survived(tmp_path: Path, body: bytes) -> None:
    with StubApiServer() as server:
        server.answer("GET", AUTHENTICATION, Canned(200, body))
        with SteersmanProcess(with_nodes(server), tmp_path) as steersman:
            assert schedules_pods(server, "web")
            wait_until(
                lambda: "cannot read trusted client certificate authorities" in steersman.log_text(), what="a complaint"
            )
            assert steersman.is_alive()


def test_nonsense_in_place_of_a_review_opens_no_door(tmp_path: Path) -> None:
    granted = json.dumps({"status": {"authenticated": True, "user": {"username": "somebody"}}}).encode()
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path) as steersman:
        for number, body in enumerate(
            (HTML, b'{"status": ' + DEEP + b"}", b'{"status": {"allowed": "yes"}}', b"\xff", b"")
        ):
            server.answers.clear()
            server.answer("POST", TOKEN_REVIEWS, Canned(201, body))
            assert steersman.get("/metrics", token=f"token-{number}")[0] == 401
            server.answer("POST", TOKEN_REVIEWS, Canned(201, granted))
            server.answer("POST", ACCESS_REVIEWS, Canned(201, body))
            assert steersman.get("/metrics", token=f"other-token-{number}")[0] in (403, 500)
        server.answers.clear()
        assert steersman.get("/metrics", token=ADMIN_TOKEN)[0] == 200
        assert schedules_pods(server, "web")


def test_a_lease_that_cannot_be_read_is_requested_again(tmp_path: Path) -> None:
    with StubApiServer() as server:
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        server.answer("", path, Canned(200, HTML))
        with SteersmanProcess(with_nodes(server), tmp_path, leader_elect=True) as steersman:
            wait_until(lambda: "the lease cannot be taken" in steersman.log_text(), what="a complaint")
            assert steersman.is_alive()
            server.answers.clear()
            assert schedules_pods(server, "web")


def test_secrets_of_extenders_are_not_shown(tmp_path: Path) -> None:
    with StubApiServer() as server, ExtenderServer() as extender:
        url = extender.url.replace("//", "//operator:hunter2@")
        config = {"extenders": [extender.settings(urlPrefix=url, ignorable=True)]}
        extender.body = HTML
        with SteersmanProcess(with_nodes(server), tmp_path, config=config) as steersman:
            assert schedules_pods(server, "web")
            code, shown = steersman.get("/configz")
            assert code == 200
            assert json.loads(shown)["componentconfig"]["extenders"][0]["urlPrefix"] == url.replace("hunter2", "***")
            assert "is skipped" in steersman.log_text()
            assert "hunter2" not in steersman.log_text()


def test_control_characters_of_others_do_not_reach_the_log(tmp_path: Path) -> None:
    with StubApiServer() as server, ExtenderServer() as extender:
        extender.body = b'{"Error": "\\u001b[2J\\u202egnp\\n\\u009b31mI0101 forged"}'
        config = {"extenders": [extender.settings(ignorable=True)]}
        with SteersmanProcess(with_nodes(server), tmp_path, config=config) as steersman:
            assert schedules_pods(server, "web")
            text = steersman.log_text()
            assert r"\u001b[2J\u202egnp\n\u009b31m" in text
            assert not any(character in text for character in "\x1b\x9b\u202e")
            assert not any(line.startswith("\u009b31mI0101") for line in text.splitlines())
