# SPDX-License-Identifier: Apache-2.0
"""The harness itself: an ordinary scheduler on an ordinary server does ordinary work."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.process import SteersmanProcess, schedules_pods, with_nodes
from tests.hostile.stub_api_server import PODS, StubApiServer

from steersman.testing import make_pod
from steersman.testing.control_plane import manifest, wait_until


def test_pods_are_bound_and_rejected_if_they_do_not_fit(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path) as steersman:
        assert schedules_pods(server, "web") in ("n0", "n1")
        server.put(PODS, manifest(make_pod("huge").req(cpu="100")))
        wait_until(lambda: "PodScheduled" in server.conditions("default/huge"), what="a condition")
        assert "Insufficient cpu" in server.conditions("default/huge")["PodScheduled"]["message"]
        server.relist(PODS)
        assert schedules_pods(server, "after-a-new-list")
        assert steersman.is_alive()
        assert steersman.metric('scheduler_cache_size{type="nodes"}') == 2


def test_a_leader_holds_the_lease(tmp_path: Path) -> None:
    with StubApiServer() as server, SteersmanProcess(with_nodes(server), tmp_path, leader_elect=True):
        assert schedules_pods(server, "web")
        assert [one for one in server.received("POST") if "/leases" in one.path]
