# SPDX-License-Identifier: Apache-2.0
"""Two profiles in one scheduler: each pod is placed by the rules of the profile that it names."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import Both, run_both
from tests.e2e.pictures import OTHER_SCHEDULER

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

PACKING = {
    "name": "NodeResourcesFit",
    "args": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "NodeResourcesFitArgs",
        "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]},
    },
}
CONFIG = {
    "profiles": [
        {"schedulerName": "default-scheduler"},
        {
            "schedulerName": "packer",
            "pluginConfig": [PACKING],
            "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        },
        {"schedulerName": "careless", "plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}},
    ]
}


def prepare(admin: KubeClient) -> None:
    nodes = (make_node(name).capacity(cpu="8", memory="16Gi") for name in ("busy", "idle"))
    tainted = make_node("tainted").capacity(cpu="8", memory="16Gi").taint("k").label("pool", "tainted")
    admin.create_nodes(*map(manifest, [*nodes, tainted]))
    admin.create(manifest(make_pod("load").node("busy").req(cpu="4", memory="8Gi")))
    ours = make_pod("spread-out").req(cpu="100m")
    admin.create(manifest(ours))
    admin.create(manifest(ours.name("packed").scheduler("packer")))
    admin.create(manifest(ours.name("bold").scheduler("careless").node_selector("pool", "tainted")))
    admin.create(manifest(ours.name("too-large").scheduler("packer").req(cpu="100")))


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare, config=CONFIG)


def test_everything_written_is_what_kube_scheduler_writes(both: Both) -> None:
    assert both.steersman == both.upstream


def test_each_profile_has_its_own_scores(both: Both) -> None:
    assert (both.steersman.node("spread-out"), both.steersman.node("packed")) == ("idle", "busy")


def test_each_profile_has_its_own_filters(both: Both) -> None:
    assert both.steersman.node("bold") == "tainted"


def test_events_come_from_the_profile_of_the_pod(both: Both) -> None:
    [event] = both.steersman.events_of("packed")
    assert event["reportingController"] == "packer"


def test_a_pod_of_another_scheduler_is_left_alone(plane: ControlPlane) -> None:
    def prepare_foreign(admin: KubeClient) -> None:
        admin.create_nodes(manifest(make_node("n1").capacity(cpu="8", memory="16Gi")))
        admin.create(manifest(make_pod("ours")))
        admin.create(manifest(make_pod("foreign").scheduler(OTHER_SCHEDULER)))

    def ours_is_bound(admin: KubeClient) -> None:
        admin.wait_until(lambda: admin.get("Pod", "ours")["spec"].get("nodeName"))
        # Decided by us, so that the picture can settle: nobody else will ever do it.
        admin.bind("foreign", "n1")

    both = run_both(plane, prepare_foreign, act=ours_is_bound)
    assert both.steersman == both.upstream
    assert both.steersman.events_of("foreign") == []
