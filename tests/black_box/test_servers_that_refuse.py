# SPDX-License-Identifier: Apache-2.0
"""What an operator reads when an API server refuses: one line with the remedy, not one for each kind and each event."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from pathlib import Path

import pytest
from tests.black_box.command import warnings_in
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import NODES, PODS, Canned, Received, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until


def refusal(code: int, reason: str, message: str) -> Canned:
    return Canned(code, json.dumps({"kind": "Status", "code": code, "reason": reason, "message": message}).encode())


def test_a_bad_token_is_one_warning_that_points_to_doctor(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.answer("", "/", refusal(401, "Unauthorized", "Unauthorized"))
        process = SteersmanProcess(server, tmp_path)
        process.start(wait=False)
        try:
            wait_until(lambda: all_kinds_were_asked_twice(server), 60, what="two rounds of refused lists")
        finally:
            process.kill()
    told = [line for line in warnings_in(tmp_path / "steersman.log") if "following" in line]
    assert len(told) == 1, told
    assert "does not accept the credentials" in told[0]
    assert "steersman doctor" in told[0]


def all_kinds_were_asked_twice(server: StubApiServer) -> bool:
    """Pods are listed when all the rest is there."""
    lists = Counter(one.path for one in server.received("GET", "/api") if one.query)
    return len(lists) > 10 and min(lists.values()) > 1


def test_events_that_a_deleted_namespace_refuses_are_reported_together(tmp_path: Path) -> None:
    count = 30
    with StubApiServer() as server:
        gone = refusal(
            403, "Forbidden", "unable to create new content in namespace gone because it is being terminated"
        )
        refused: list[Received] = []

        def refuse(request: Received) -> Canned:
            refused.append(request)
            return gone

        server.answer("POST", "/apis/events.k8s.io/v1/namespaces/gone/", refuse)
        with SteersmanProcess(with_nodes(server), tmp_path) as process:
            for number in range(count):
                server.put(PODS, manifest(make_pod(f"web-{number}").namespace("gone").req(cpu="10m")))
            wait_until(lambda: len(refused) >= count, what="refused events")
            assert schedules_pods(server, "after")
            process.stop()
    told = [line for line in warnings_in(tmp_path / "steersman.log") if "dropped" in line or "being terminated" in line]
    assert 1 <= len(told) <= 3, told
    assert any("events about pods of namespace gone are dropped" in line for line in told)


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [(403, "Forbidden", "deploy/manifests/rbac.yaml"), (401, "Unauthorized", "renew the token")],
)
def test_writes_that_fail_for_one_cause_are_one_line_with_the_remedy(
    tmp_path: Path, code: int, reason: str, remedy: str
) -> None:
    count = 20
    with StubApiServer() as server:
        refused: list[Received] = []
        answer = refusal(code, reason, 'pods is forbidden: User "steersman" cannot do this' if code == 403 else reason)

        def refuse(request: Received) -> Canned:
            refused.append(request)
            return answer

        server.answer("POST", "/", refuse)
        server.answer("PATCH", "/", refuse)
        with SteersmanProcess(with_nodes(server), tmp_path) as process:
            for number in range(count):
                server.put(PODS, manifest(make_pod(f"web-{number}").req(cpu="10m")))
            wait_until(lambda: len(refused) >= 4 * count, 30, what="refused writes")
            process.kill()
    told = warnings_in(tmp_path / "steersman.log")
    assert len(told) == 1, told
    assert remedy in told[0]
    assert "steersman doctor" in told[0]


def test_informers_that_have_not_synced_are_named_as_kube_scheduler_names_them(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.answer("GET", NODES, refusal(500, "InternalError", "etcd is away"))
        process = SteersmanProcess(server, tmp_path)
        process.start(wait=False)
        try:
            text = wait_until(lambda: not_synced(process), what="an answer of /readyz/informer-sync")
        finally:
            process.kill()
    assert "2 informers not started yet: [*v1.Node *v1.Pod]" in text


def not_synced(process: SteersmanProcess) -> str:
    """The failure, once nothing is missing but the nodes, and the pods, which come last."""
    try:
        code, text = process.get("/readyz/informer-sync")
    except (OSError, http.client.HTTPException):
        return ""
    return text if code == 500 and "2 informers not started yet" in text else ""
