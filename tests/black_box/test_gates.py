# SPDX-License-Identifier: Apache-2.0
"""Every feature gate does what it says; where that makes no difference, the start says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import NODES, PODS, JsonObject, StubApiServer

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest, wait_until

RESIZE_OFF = "InPlacePodLevelResourcesVerticalScaling=false"
POD_LEVEL_OFF = f"PodLevelResources=false,{RESIZE_OFF}"


def gates(text: str) -> tuple[str, ...]:
    return (f"--feature-gates={text}",)


@pytest.mark.parametrize("given", ["SchedulerPopFromBackoffQ=false", ""], ids=["off", "on"])
def test_a_pod_waits_its_backoff_out_unless_pods_are_popped_from_there(tmp_path: Path, given: str) -> None:
    """Its backoff lasts ten minutes: with the gate off it is still waiting after two pods that came later."""
    config = {"podInitialBackoffSeconds": 600, "podMaxBackoffSeconds": 600}
    with (
        StubApiServer() as server,
        SteersmanProcess(with_nodes(server, 1), tmp_path, config=config, flags=gates(given)),
    ):
        server.put(PODS, manifest(make_pod("waits").req(cpu="16")))
        wait_until(lambda: "PodScheduled" in server.conditions("default/waits"), what="a failed attempt")
        server.put(NODES, manifest(make_node("large").capacity(cpu="64", memory="64Gi", pods="110")))
        if given:
            assert schedules_pods(server, "later")
            assert schedules_pods(server, "last")
            assert "default/waits" not in server.bindings()
        else:
            wait_until(lambda: server.bindings().get("default/waits") == "large", what="a binding")


def running_pod_that_shrinks() -> JsonObject:
    """Its spec asks for one core; the kubelet still has it at eight."""
    pod = manifest(make_pod("shrinks").req(cpu="500m").pod_req(cpu="1").node("n0"))
    pod.setdefault("status", {})["resources"] = {"requests": {"cpu": "8"}}
    pod["status"]["phase"] = "Running"
    return pod


def test_a_resize_of_a_whole_pod_does_not_count_with_its_gate_off(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.put(PODS, running_pod_that_shrinks())
        with SteersmanProcess(with_nodes(server, 1), tmp_path, flags=gates(RESIZE_OFF)):
            server.put(PODS, manifest(make_pod("web").req(cpu="7")))
            wait_until(lambda: server.bindings().get("default/web") == "n0", what="a binding")


def test_a_resize_of_a_whole_pod_counts_by_default(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.put(PODS, running_pod_that_shrinks())
        with SteersmanProcess(with_nodes(server, 1), tmp_path):
            server.put(PODS, manifest(make_pod("web").req(cpu="7")))
            wait_until(lambda: "PodScheduled" in server.conditions("default/web"), what="a failed attempt")
            assert "Insufficient cpu" in server.conditions("default/web")["PodScheduled"]["message"]


def test_requests_of_a_whole_pod_do_not_count_with_their_gate_off(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server, 1), tmp_path, flags=gates(POD_LEVEL_OFF)):
        server.put(PODS, manifest(make_pod("web").req(cpu="1").pod_req(cpu="100")))
        wait_until(lambda: server.bindings().get("default/web") == "n0", what="a binding")


@pytest.mark.parametrize("gate", ["OpportunisticBatching=false", "SchedulerAsyncAPICalls=true"])
def test_a_gate_that_describes_what_is_done_anyway_is_said_to_change_nothing(tmp_path: Path, gate: str) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path, flags=gates(gate)) as process:
        assert f"{gate} has no effect: " in process.log_text()
