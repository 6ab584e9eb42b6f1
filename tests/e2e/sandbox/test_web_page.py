# SPDX-License-Identifier: Apache-2.0
"""The page of a real sandbox: what kubectl does is seen by whoever has the token, and by no other site."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.sandbox.sandbox_process import SandboxProcess

from steersman.testing.control_plane import wait_until

PODS = "/api/v1/namespaces/default/pods"


class Page:
    """The page of one sandbox, as its address says."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self.sandbox = sandbox
        line = next(line for line in sandbox.output.splitlines() if line.startswith("The page: "))
        self._address = urlsplit(line.removeprefix("The page: "))
        self.token = self._address.fragment.removeprefix("token=")

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._address.netloc, timeout=60)

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        connection = self.connection()
        data = None if body is None else json.dumps(body)
        given = {"Authorization": f"Bearer {self.token}"} if headers is None else dict(headers)
        connection.request(method, path, data, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def get(self, path: str) -> Any:
        code, text = self.request("GET", f"/web/v1/{path}")
        assert code == 200, text
        return json.loads(text)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    directory: Path = tmp_path_factory.mktemp("sandbox")
    with SandboxProcess(directory, "--nodes", "5") as sandbox:
        yield Page(sandbox)


def pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_what_clients_create_is_seen(page: Page) -> None:
    assert page.sandbox.request("POST", PODS, pod("seen", "1"))[0] == 201
    assert page.sandbox.request("POST", PODS, pod("huge", "1000"))[0] == 201
    wait_until(lambda: page.get("pods/default/seen")["place"] == "bound")
    wait_until(lambda: page.get("pending")["total"] == 1 and page.get("pending")["groups"][0]["message"])
    assert page.get("pending")["groups"][0]["title"] == "Insufficient cpu"
    matrix = page.get("pods/default/seen/matrix")
    assert (len(matrix["nodes"]), sum(matrix["fits"])) == (5, 5)
    assert "name: seen" in page.get("pods/default/seen")["yaml"]
    assert "Scheduled" in [event["reason"] for event in page.get("pods/default/seen")["events"]]


def test_the_stream_tells_what_happens(page: Page) -> None:
    connection = page.connection()
    connection.request("GET", "/web/v1/stream", headers={"Authorization": f"Bearer {page.token}"})
    answer = connection.getresponse()
    assert _event(answer)[0] == "snapshot"
    page.sandbox.request("POST", PODS, pod("streamed", "1"))
    while True:
        name, document = _event(answer)
        if name == "diff" and any(move["pod"] == "default/streamed" for move in document.get("moves", [])):
            break
    connection.close()


def _event(answer: http.client.HTTPResponse) -> tuple[str, Any]:
    """The next event of a stream, with its document."""
    name, data = "", ""
    while (line := answer.readline().decode().rstrip("\n")) or not name:
        name = line.removeprefix("event: ") if line.startswith("event: ") else name
        data = line.removeprefix("data: ") if line.startswith("data: ") else data
    return name, json.loads(data)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 401),
        ({"Authorization": "Bearer made-up"}, 401),
        ({"Cookie": "token=TOKEN"}, 401),
        ({"Authorization": "Bearer TOKEN", "Origin": "https://evil.example"}, 403),
        ({"Authorization": "Bearer TOKEN", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": "Bearer TOKEN", "Host": "evil.example"}, 403),
        ({"Authorization": "Bearer TOKEN"}, 200),
    ],
)
def test_data_is_for_the_own_page_with_the_token(page: Page, headers: dict[str, str], code: int) -> None:
    given = {name: value.replace("TOKEN", page.token) for name, value in headers.items()}
    assert page.request("GET", "/web/v1/cluster", headers=given)[0] == code


def test_the_token_of_the_page_is_not_the_clusters(page: Page) -> None:
    assert page.token not in page.sandbox.kubeconfig.read_text()


def test_objects_are_created_and_the_clock_stepped_from_the_page(page: Page) -> None:
    assert page.request("POST", "/web/v1/clock", {"paused": True})[0] == 200
    for name in ("step-0", "step-1"):
        assert page.request("POST", "/web/v1/kube/api/v1/namespaces/default/pods", pod(name, "10m"))[0] == 201
    assert page.get("pods?text=step&place=bound")["total"] == 0
    assert page.request("POST", "/web/v1/clock", {"decisions": 1})[0] == 200
    wait_until(lambda: page.get("pods?text=step&place=bound")["total"] == 1)
    assert page.request("POST", "/web/v1/clock", {"paused": False})[0] == 200
    wait_until(lambda: page.get("pods?text=step&place=bound")["total"] == 2)


def test_the_matrix_of_an_attempt_can_be_examined_later(page: Page) -> None:
    decision = page.get("pods/default/seen")["decisions"][0]
    matrix = page.get(f"pods/default/seen/matrix?at={decision['at']}")
    assert (matrix["source"], matrix["node"]) == ("recorded", decision["node"])
    assert page.get("history")["to"] >= decision["at"]
