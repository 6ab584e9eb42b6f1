# SPDX-License-Identifier: Apache-2.0
"""Logs of simulated containers: one line, by the options of `kubectl logs`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.embedded_api import PODS, EmbeddedApi, pod

from steersman.cluster.store import Document

LOG = f"{PODS}/p/log"
LINE = b"container app of pod default/p is simulated and writes no more\n"
STARTED = "2026-01-01T00:00:00Z"


def state(**fields: Any) -> Document:
    return {"phase": "Running", "containerStatuses": [{"name": "app", "image": "i", "imageID": "", "state": fields}]}


@pytest.fixture
def cluster() -> EmbeddedApi:
    """A cluster whose pod has started at the present time."""
    made = EmbeddedApi()
    made.create(PODS, pod("p", nodeName="n"))
    made.patch(f"{PODS}/p/status", {"status": state(running={"startedAt": STARTED})})
    return made


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", LINE),
        ("?container=app&follow=true", LINE),
        ("?timestamps=true", STARTED.encode() + b" " + LINE),
        ("?tailLines=5", LINE),
        ("?tailLines=0", b""),
        ("?limitBytes=9", b"container"),
        ("?sinceSeconds=60", LINE),
        ("?sinceTime=2027-01-01T00:00:00Z", b""),
    ],
)
def test_a_container_that_has_started_has_written_one_line(cluster: EmbeddedApi, query: str, body: bytes) -> None:
    answer = cluster.answer("GET", LOG + query)
    assert (answer.code, answer.body, answer.content_type) == (200, body, "text/plain")


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("?container=none", 400, "container none is not valid for pod p"),
        ("?previous=true", 400, 'previous terminated container "app" in pod "p" not found'),
        ("?tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("?tailLines=-1", 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ("?limitBytes=-1", 422, "limitBytes: Invalid value: -1: must be greater than 0"),
        (f"?sinceSeconds=1&sinceTime={STARTED}", 422, "at most one of `sinceTime` or `sinceSeconds` may be specified"),
        ("?sinceTime=yesterday", 400, "is not a time"),
    ],
)
def test_options_that_make_no_sense_are_refused(cluster: EmbeddedApi, query: str, code: int, message: str) -> None:
    assert message in cluster.refusal(code, "GET", LOG + query)["message"]


def test_a_pod_with_several_containers_asks_for_one() -> None:
    cluster = EmbeddedApi()
    containers = [{"name": name, "image": "i"} for name in "ab"]
    cluster.create(PODS, pod("p", nodeName="n", containers=containers, initContainers=[{"name": "i", "image": "i"}]))
    choice = "choose one of: [a b] or one of the init containers: [i]"
    assert cluster.refusal(400, "GET", LOG)["message"] == f"a container name must be specified for pod p, {choice}"


def test_a_container_that_waits_has_no_log() -> None:
    cluster = EmbeddedApi()
    cluster.create(PODS, pod("p", nodeName="n"))
    waiting = 'container "app" in pod "p" is waiting to start: {}'
    assert cluster.refusal(400, "GET", LOG)["message"] == waiting.format("ContainerCreating")
    cluster.patch(f"{PODS}/p/status", {"status": state(waiting={"reason": "ImagePullBackOff"})})
    assert cluster.refusal(400, "GET", LOG)["message"] == waiting.format("ImagePullBackOff")


def test_a_pod_that_is_not_scheduled_has_an_empty_log() -> None:
    cluster = EmbeddedApi()
    cluster.create(PODS, pod("p"))
    assert cluster.answer("GET", LOG).body == b""
    cluster.refusal(404, "GET", f"{PODS}/none/log")
