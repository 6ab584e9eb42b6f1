# SPDX-License-Identifier: Apache-2.0
"""A server without an API group: only devices can be done without; everything else is waited for, and named."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest
from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import PODS, Canned, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until

NOT_FOUND = Canned(404, b"404 page not found\n")


@pytest.mark.parametrize(
    ("group", "informer"),
    [
        ("/apis/policy/v1/", "*v1.PodDisruptionBudget"),
        ("/apis/storage.k8s.io/v1/", "*v1.StorageClass"),
        ("/apis/apps/v1/", "*v1.ReplicaSet"),
    ],
)
def test_a_group_that_rules_depend_on_is_waited_for(tmp_path: Path, group: str, informer: str) -> None:
    with StubApiServer() as server:
        server.answer("GET", group, NOT_FOUND)
        server.put(PODS, manifest(make_pod("web").req(cpu="1")))
        waiting = SteersmanProcess(with_nodes(server), tmp_path)
        waiting.start(wait=False)
        try:
            wait_until(lambda: informer in _readyz(waiting), what=f"that /readyz names {informer}")
            wait_until(lambda: "which is waited for" in waiting.log_text(), what="that the log says so")
            assert waiting.is_alive()
            assert server.bindings() == {}
            server.answers.clear()
            wait_until(lambda: "default/web" in server.bindings(), 60.0, what="a binding once the group is there")
        finally:
            waiting.kill()


def test_without_devices_everything_else_is_scheduled(tmp_path: Path) -> None:
    with StubApiServer() as server:
        server.answer("GET", "/apis/resource.k8s.io/", NOT_FOUND)
        with SteersmanProcess(with_nodes(server), tmp_path):
            assert schedules_pods(server, "web")


def _readyz(steersman: SteersmanProcess) -> str:
    try:
        return steersman.get("/readyz/informer-sync")[1]
    except (OSError, http.client.HTTPException):
        return ""
