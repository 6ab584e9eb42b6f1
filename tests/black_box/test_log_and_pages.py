# SPDX-License-Identifier: Apache-2.0
"""The log and the pages of `steersman run` as its operator sees them, from outside of the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import NODES, PODS, Canned, StubApiServer

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest, wait_until

REFUSAL = json.dumps({"kind": "Status", "code": 409, "reason": "Conflict", "message": "not now"}).encode()
Running = tuple[StubApiServer, SteersmanProcess, Path]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Verbose, and one pod is placed."""
    folder = tmp_path_factory.mktemp("seen")
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), folder, flags=("-v=5",)) as process:
        assert schedules_pods(server, "first")
        yield server, process, folder / "steersman.log"


def has_line(log: Path, *words: str) -> bool:
    return any(all(word in line for word in words) for line in log.read_text().splitlines())


def test_the_start_is_reported_with_version_server_and_configuration(running: Running) -> None:
    server, _, log = running
    assert has_line(log, "Starting Steersman", "version=", server.url, "steersman.yaml")


@pytest.mark.parametrize(
    ("verbosity", "text"),
    [(3, "Attempting to schedule pod"), (4, "Evaluated nodes for pod"), (5, "Scored nodes for pod")],
)
def test_every_verbosity_adds_what_an_attempt_examined(running: Running, verbosity: int, text: str) -> None:
    """`tests/app/test_logging.py` holds which text comes with which verbosity."""
    assert has_line(running[2], text, "default/first"), f"-v={verbosity}"


def test_a_binding_that_fails_is_reported(running: Running) -> None:
    server, _, log = running
    server.answer("POST", "/api/v1/namespaces/default/pods/unlucky/binding", Canned(409, REFUSAL))
    server.put(PODS, manifest(make_pod("unlucky").req(cpu="100m")))
    wait_until(lambda: has_line(log, "Error scheduling pod; retrying", "default/unlucky"), 30, what="a failed binding")


def test_an_unschedulable_pod_is_called_so_where_its_decisions_are_explained(running: Running) -> None:
    server, process, _ = running
    server.put(PODS, manifest(make_pod("huge").req(cpu="1000").priority(-1)))
    wait_until(lambda: "PodScheduled" in server.conditions("default/huge"), what="a condition")
    code, text = process.get("/debug/decisions/default/huge?explain=table")
    assert code == 200
    assert "unschedulable: 0/2 nodes are available: 2 Insufficient cpu." in " ".join(text.split())
    assert "undecided" not in text


def test_a_victim_is_reported(running: Running) -> None:
    server, _, log = running
    for node in ("n0", "n1"):
        victim = make_pod(f"victim-{node}").req(cpu="7").node(node).priority(0)
        server.put(PODS, manifest(victim))
    server.put(PODS, manifest(make_pod("urgent").req(cpu="7").priority(100)))
    wait_until(lambda: has_line(log, "Preemptor Pod preempted victim Pod", "default/urgent"), 30, what="a preemption")


@pytest.mark.parametrize(
    ("path", "title"), [("/flagz", "steersman flagz\n"), ("/statusz", "steersman statusz\n")], ids=["flagz", "statusz"]
)
def test_the_z_pages_are_served(running: Running, path: str, title: str) -> None:
    code, text = running[1].get(path)
    assert code == 200
    assert title in text.lower()


@pytest.mark.parametrize(
    "series",
    [
        "kubernetes_build_info{",
        "# TYPE scheduler_volume_scheduling_stage_error_total counter",
        'scheduler_plugin_evaluation_total{extension_point="PreScore",plugin="NodeResourcesFit",',
        'scheduler_plugin_evaluation_total{extension_point="Score",plugin="NodeResourcesFit",',
    ],
    ids=["build", "volumes", "PreScore", "Score"],
)
def test_metrics_that_were_missing_are_there(running: Running, series: str) -> None:
    code, text = running[1].get("/metrics")
    assert code == 200
    assert series in text


def test_the_handling_of_an_event_is_labelled_as_upstream_labels_it(running: Running) -> None:
    server, process, _ = running
    server.put(NODES, manifest(make_node("n1").capacity(cpu="8", memory="16Gi", pods="110").label("disk", "ssd")))
    series = 'scheduler_event_handling_duration_seconds_count{event="NodeUpdateNodeLabel"}'
    wait_until(lambda: process.metric(series) == 1, what="a change of labels in the metrics")


def test_victims_that_terminate_already_are_not_counted(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server, 1), tmp_path) as process:
        for name in ("a", "b"):
            server.put(PODS, manifest(make_pod(name).req(cpu="4").node("n0").terminating()))
        server.put(PODS, manifest(make_pod("urgent").req(cpu="8").priority(100)))
        wait_until(lambda: process.metric("scheduler_preemption_attempts_total") == 1, what="a preemption")
        assert process.metric("scheduler_preemption_victims_sum") == 0
