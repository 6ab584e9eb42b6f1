# SPDX-License-Identifier: Apache-2.0
"""The harness itself: what other end-to-end tests rely on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    ControlPlane,
    KubeClient,
    KubeScheduler,
    ServerRefusal,
    Steersman,
    bound_to,
    manifest,
)


def test_nodes_are_schedulable_and_keep_their_status(admin: KubeClient) -> None:
    [node] = admin.create_nodes(manifest(make_node("n1").capacity(cpu="4").taint("k", "v")))

    assert [taint["key"] for taint in node["spec"]["taints"]] == ["k"]
    assert node["status"]["allocatable"]["cpu"] == "4"


def test_many_pods_are_created_over_several_connections(admin: KubeClient) -> None:
    created = admin.create_many([manifest(make_pod(f"web-{i}").req(cpu="10m")) for i in range(200)])

    assert len(admin.list("Pod", "default")) == len(created) == 200


@pytest.mark.parametrize("scheduler", [KubeScheduler, Steersman])
def test_a_scheduler_binds_and_ends_when_asked(
    plane: ControlPlane, scheduler: type[KubeScheduler] | type[Steersman]
) -> None:
    plane.admin.create_nodes(manifest(make_node("n1").capacity(cpu="4")))
    with scheduler(plane) as process:
        plane.admin.create(manifest(make_pod("web").req(cpu="1")))
        plane.admin.wait_until(lambda: bound_to(plane.admin.get("Pod", "web")) == "n1")
        assert process.rss() > 0
        assert process.cpu_seconds() > 0
        # kube-scheduler calls every end without leader election a failure.
        assert process.stop() == (1 if scheduler is KubeScheduler else 0)


def test_a_user_may_do_what_rbac_grants_and_nothing_else(plane: ControlPlane) -> None:
    with plane.client("somebody") as somebody, pytest.raises(ServerRefusal) as refused:
        somebody.list("Pod", "default")
    assert refused.value.code == 403


def test_a_killed_api_server_comes_back_with_its_objects(new_plane: Callable[..., ControlPlane]) -> None:
    plane = new_plane(authorization="AlwaysAllow")
    plane.admin.create(manifest(make_pod("web")))

    plane.api_server.kill()
    plane.api_server.start()

    assert plane.admin.get("Pod", "web")["metadata"]["name"] == "web"


def test_a_paused_etcd_stops_writes_until_it_goes_on(new_plane: Callable[..., ControlPlane]) -> None:
    plane = new_plane()
    plane.etcd.pause()
    with pytest.raises((ServerRefusal, ConnectionError)):  # the server gives up in one way or the other
        plane.admin.create(manifest(make_pod("web")), query={"timeout": "1s"})
    plane.etcd.resume()

    plane.wait_ready()
    assert plane.admin.create(manifest(make_pod("next")))["metadata"]["name"] == "next"
