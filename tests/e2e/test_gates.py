# SPDX-License-Identifier: Apache-2.0
"""Scheduling gates on a real API server."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, condition, manifest

pytestmark = EACH_VERSION


def prepare(admin: KubeClient) -> None:
    admin.create_nodes(manifest(make_node("n1").capacity(cpu="4", memory="8Gi")))
    admin.create(manifest(make_pod("gated").gate("example.com/quota").gate("example.com/licence")))
    admin.create(manifest(make_pod("released").gate("example.com/quota")))
    admin.create(manifest(make_pod("free")))


def release_one(admin: KubeClient) -> None:
    """When the scheduler has seen all of them, as the placement of the last shows."""
    admin.wait_until(lambda: condition(admin.get("Pod", "free"), "PodScheduled"), what="a decision about the free pod")
    admin.patch("Pod", "released", {"spec": {"schedulingGates": []}})
    admin.patch("Pod", "gated", {"spec": {"schedulingGates": [{"name": "example.com/licence"}]}})


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare, act=release_one)


def test_everything_written_is_what_kube_scheduler_writes(both: Both) -> None:
    assert both.steersman == both.upstream


def test_a_gated_pod_stays_where_it_is_and_says_so(both: Both) -> None:
    assert both.steersman.node("gated") == ""
    assert both.steersman.scheduled("gated")["reason"] == "SchedulingGated"


def test_a_pod_without_its_last_gate_is_scheduled(both: Both) -> None:
    assert both.steersman.node("released") == "n1"
