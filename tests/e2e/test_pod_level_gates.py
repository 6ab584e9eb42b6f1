# SPDX-License-Identifier: Apache-2.0
"""Requests of whole pods, and resizes of them, with the scheduler's gates on and off. The API server keeps the fields."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import run_both

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

RESIZE_OFF = "InPlacePodLevelResourcesVerticalScaling=false"
BOTH_OFF = f"PodLevelResources=false,{RESIZE_OFF}"


def prepare(admin: KubeClient) -> None:
    """A running pod asks for one core as a whole, and still has six of eight; one pod asks for more than a node has."""
    admin.create_nodes(manifest(make_node("n1").capacity(cpu="8", memory="8Gi")))
    admin.create(manifest(make_pod("shrinks").req(cpu="500m").pod_req(cpu="1").node("n1")))
    status = {"phase": "Running", "resources": {"requests": {"cpu": "6"}}, "allocatedResources": {"cpu": "6"}}
    admin.patch("Pod", "shrinks", {"status": status}, subresource="status")
    admin.create(manifest(make_pod("web").req(cpu="4")))
    admin.create(manifest(make_pod("whole").req(cpu="1").pod_req(cpu="100")))


@pytest.mark.parametrize(
    ("gates", "placed"),
    [("", set()), (RESIZE_OFF, {"web"}), (BOTH_OFF, {"web", "whole"})],
    ids=["on", "no resize", "off"],
)
def test_what_counts_is_what_counts_for_kube_scheduler(
    shared_plane: ControlPlane, gates: str, placed: set[str]
) -> None:
    both = run_both(shared_plane, prepare, flags=[f"--feature-gates={gates}"])
    assert both.steersman == both.upstream
    assert {pod for pod in ("web", "whole") if both.upstream.node(pod)} == placed
