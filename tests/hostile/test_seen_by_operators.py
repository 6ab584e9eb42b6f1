# SPDX-License-Identifier: Apache-2.0
"""The log and the pages of `steersman run` as its operator sees them, from outside of the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import PODS, Canned, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until

REFUSAL = json.dumps({"kind": "Status", "code": 409, "reason": "Conflict", "message": "not now"}).encode()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StubApiServer, SteersmanProcess, Path]]:
    """Verbose, with gates that are accepted and change nothing."""
    folder = tmp_path_factory.mktemp("seen")
    flags = ("-v=4", "--feature-gates=InPlacePodLevelResourcesVerticalScaling=false")
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), folder, flags=flags) as process:
        assert schedules_pods(server, "first")
        yield server, process, folder / "steersman.log"


def has_line(log: Path, *words: str) -> bool:
    return any(all(word in line for word in words) for line in log.read_text().splitlines())


def test_the_start_is_told_with_version_server_and_configuration(
    running: tuple[StubApiServer, SteersmanProcess, Path],
) -> None:
    server, _, log = running
    assert has_line(log, "Starting Steersman", "version=", server.url, "steersman.yaml")


def test_an_attempt_is_told_where_verbosity_asks_for_it(running: tuple[StubApiServer, SteersmanProcess, Path]) -> None:
    assert has_line(running[2], "Attempting to schedule pod", "default/first")


def test_a_gate_that_changes_nothing_is_said_to_have_no_effect(
    running: tuple[StubApiServer, SteersmanProcess, Path],
) -> None:
    assert has_line(running[2], "InPlacePodLevelResourcesVerticalScaling=false", "has no effect")


def test_a_binding_that_fails_is_told(running: tuple[StubApiServer, SteersmanProcess, Path]) -> None:
    server, _, log = running
    server.answer("POST", "/api/v1/namespaces/default/pods/unlucky/binding", Canned(409, REFUSAL))
    server.put(PODS, manifest(make_pod("unlucky").req(cpu="100m")))
    wait_until(lambda: has_line(log, "Error scheduling pod; retrying", "default/unlucky"), 30, what="a failed binding")


def test_a_victim_is_told(running: tuple[StubApiServer, SteersmanProcess, Path]) -> None:
    server, _, log = running
    for node in ("n0", "n1"):
        victim = make_pod(f"victim-{node}").req(cpu="7").node(node).priority(0)
        server.put(PODS, manifest(victim))
    server.put(PODS, manifest(make_pod("urgent").req(cpu="7").priority(100)))
    wait_until(lambda: has_line(log, "Preemptor Pod preempted victim Pod", "default/urgent"), 30, what="a preemption")


@pytest.mark.parametrize("path", ["/flagz", "/statusz"])
def test_the_z_pages_are_served(running: tuple[StubApiServer, SteersmanProcess, Path], path: str) -> None:
    assert running[1].get(path)[0] == 200


def test_metrics_name_the_build_and_the_events_as_upstream_does(
    running: tuple[StubApiServer, SteersmanProcess, Path],
) -> None:
    code, text = running[1].get("/metrics")
    assert code == 200
    assert "kubernetes_build_info{" in text
    assert 'scheduler_event_handling_duration_seconds_count{event="NodeAdd"}' in text
