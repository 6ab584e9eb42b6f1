# SPDX-License-Identifier: Apache-2.0
"""`steersman doctor` beside a kube-scheduler that was restarted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.black_box.command import steersman
from tests.hostile.stub_api_server import Canned, Received, StubApiServer

EVENTS = "/apis/events.k8s.io/v1/events"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
INSTANCE = "default-scheduler-host"


def examined(instances: Sequence[str], folder: Path) -> list[str]:
    """What is said of schedulers of one name, when these instances have reported events, one after the other."""
    with StubApiServer() as server:
        server.answer("GET", "/version", Canned(body=b'{"gitVersion": "v1.36.4"}'))
        server.answer("GET", "/api", discovery)
        server.answer("POST", REVIEWS, Canned(201, b'{"status": {"allowed": true}}'))
        for index, instance in enumerate(instances):
            metadata = {"name": f"e{index}", "creationTimestamp": f"2030-01-01T00:{index:02}:00Z"}
            event = {"metadata": metadata, "reportingController": "default-scheduler", "reportingInstance": instance}
            server.put(EVENTS, {**event, "eventTime": f"2030-01-01T00:{index:02}:00.000000Z"})
        done = steersman("doctor", "--kubeconfig", server.kubeconfig(folder))
    return [line for line in done.stdout.splitlines() if "default-scheduler" in line and "schedulers" in line]


def discovery(request: Received) -> Canned | None:
    """Of /api/v1 and /apis/GROUP/VERSION an empty list: what else is examined does not matter here."""
    words = request.path.strip("/").split("/")
    return Canned(body=b'{"resources": []}') if len(words) == (2 if words[0] == "api" else 3) else None


def test_a_restarted_kube_scheduler_is_one_scheduler(tmp_path: Path) -> None:
    """Its events about the lease name no instance."""
    (line,) = examined([INSTANCE, "", INSTANCE, "", INSTANCE, "", INSTANCE], tmp_path)
    assert line.split()[0] == "ok", line


def test_two_schedulers_that_take_turns_are_reported(tmp_path: Path) -> None:
    (line,) = examined(["one", "other", "one", "other", "one"], tmp_path)
    assert line.split()[0].lower() == "fail", line
