# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be read: one is set aside and named, by list and by watch alike; everything else is scheduled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import CLAIMS, NODES, PODS, JsonObject, StubApiServer

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import manifest, wait_until

SET_ASIDE = 'steersman_objects_set_aside{{kind="{}"}}'
UNREADABLE = 'steersman_unreadable_objects_total{{kind="{}"}}'


def deep_claim(levels: int, opening: str) -> bytes:
    inner = opening * levels + ("" if opening == "[" else "1") + ("]" if opening == "[" else "}") * levels
    head = '{"metadata": {"name": "deep", "namespace": "default", "uid": "u-deep", "resourceVersion": "%(version)s"},'
    config = f'[{{"opaque": {{"driver": "d", "parameters": {{"a": {inner}}}}}}}]'
    return f'{head} "spec": {{"devices": {{"config": {config}}}}}}}'.encode()


def broken_node(allocatable: JsonObject) -> JsonObject:
    node = manifest(make_node("broken").capacity(cpu="8", memory="16Gi", pods="110"))
    node["status"]["allocatable"] = allocatable
    return node


@pytest.mark.parametrize(("levels", "opening"), [(1_000, "["), (5_000, "["), (1_700, '{"a":')])
def test_a_claim_that_nests_deeply_is_set_aside_by_list_and_by_watch(tmp_path: Path, levels: int, opening: str) -> None:
    with StubApiServer() as server:
        server.put_raw(CLAIMS, "default/deep", deep_claim(levels, opening))
        with SteersmanProcess(with_nodes(server), tmp_path) as steersman:
            assert schedules_pods(server, "after-the-list")
            assert steersman.metric(SET_ASIDE.format("ResourceClaim")) == 1
            server.put_raw(CLAIMS, "default/deep", deep_claim(levels, opening))
            wait_until(lambda: steersman.metric(UNREADABLE.format("ResourceClaim")) == 2, what="the second version")
            server.relist(CLAIMS)
            assert schedules_pods(server, "after-the-watch")
            assert steersman.is_alive()
            assert "ResourceClaim default/deep cannot be used: spec.devices.config[0].opaque" in steersman.log_text()
            server.delete(CLAIMS, "default/deep")
            wait_until(lambda: steersman.metric(SET_ASIDE.format("ResourceClaim")) == 0, what="that it is forgotten")


@pytest.mark.parametrize("where", ["list", "watch"])
def test_a_node_with_an_amount_that_is_none_is_set_aside_by_name(tmp_path: Path, where: str) -> None:
    with StubApiServer() as server:
        if where == "list":
            server.put(NODES, broken_node({"cpu": "plenty", "pods": "110"}))
        with SteersmanProcess(with_nodes(server), tmp_path) as steersman:
            if where == "watch":
                server.put(NODES, broken_node({"cpu": "plenty", "pods": "110"}))
            wait_until(lambda: steersman.metric(SET_ASIDE.format("Node")) == 1, what="a node that is set aside")
            assert schedules_pods(server, "web") in ("n0", "n1")
            log = steersman.log_text()
            assert "Node broken cannot be used: status.allocatable.cpu" in log
            assert "plenty" in log
            server.put(NODES, broken_node({"cpu": "64", "pods": "110"}))
            wait_until(lambda: steersman.metric(SET_ASIDE.format("Node")) == 0, what="that it can be used")
            assert steersman.metric('scheduler_cache_size{type="nodes"}') == 3


def bound_pod(version: dict[str, Any]) -> JsonObject:
    pod = manifest(make_pod("running").req(cpu="7").node("n0"))
    pod["spec"].update(version)
    return pod


UNREADABLE_SPEC = {"priority": "high"}


@pytest.mark.parametrize("by_list", [True, False])
def test_a_bound_pod_keeps_its_room_when_it_cannot_be_read_any_more(tmp_path: Path, by_list: bool) -> None:
    with StubApiServer() as server:
        server.put(PODS, bound_pod({}))
        with SteersmanProcess(with_nodes(server, 1), tmp_path) as steersman:
            server.put(PODS, bound_pod(UNREADABLE_SPEC))
            if by_list:
                server.relist(PODS)
            wait_until(lambda: steersman.metric(SET_ASIDE.format("Pod")) == 1, what="a pod that is set aside")
            _, text = steersman.get("/debug/cache")
            assert "Invalid objects(number: 1):\nPod default/running" in text
            assert "an earlier version" in text
            assert "cpu: 7000" in text
            assert "The cache agrees with the listers." in text
            _expect_no_room(server)
            server.delete(PODS, "default/running")
            wait_until(lambda: "default/huge" in server.bindings(), what="the room of the deleted pod")
            assert steersman.metric(SET_ASIDE.format("Pod")) == 0


def test_a_bound_pod_that_could_never_be_read_takes_the_room_that_can_be_read_of_it(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.put(PODS, bound_pod(UNREADABLE_SPEC))
        with SteersmanProcess(with_nodes(server, 1), tmp_path) as steersman:
            assert "cpu: 7000" in steersman.get("/debug/cache")[1]
            _expect_no_room(server)
            assert "Pod default/running cannot be used: spec.priority" in steersman.log_text()


def test_every_version_of_an_object_is_logged_once(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.put(PODS, bound_pod(UNREADABLE_SPEC))
        with SteersmanProcess(with_nodes(server), tmp_path) as steersman:
            for name in ("a", "b", "c"):
                server.relist(PODS)
                assert schedules_pods(server, name)
            assert steersman.log_text().count("Pod default/running cannot be used") == 1
            assert steersman.metric(UNREADABLE.format("Pod")) == 1


def test_lines_that_are_no_events_lead_to_a_new_list(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path) as steersman:
        for line in (b"nonsense\n", b"[" * 5000 + b"\n", b'{"type": 7, "object": {}}\n', b'{"type":"ADDED"}\n'):
            server.send(PODS, line)
        assert schedules_pods(server, "web")
        assert steersman.is_alive()


def test_amounts_of_thousands_of_digits_are_read_as_upstream_does(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path) as steersman:
        pod = json.dumps(manifest(make_pod("long").req(cpu="1"))).replace('"1"', "9" * 5000)
        server.put_raw(PODS, "default/long", pod.encode())
        assert wait_until(
            lambda: server.bindings().get("default/long", ""), what="the binding that kube-scheduler makes"
        )
        assert schedules_pods(server, "web")
        assert steersman.is_alive()


def _expect_no_room(server: StubApiServer) -> None:
    server.put(PODS, manifest(make_pod("huge").req(cpu="2")))
    wait_until(lambda: "PodScheduled" in server.conditions("default/huge"), what="a condition")
    assert "Insufficient cpu" in server.conditions("default/huge")["PodScheduled"]["message"]
