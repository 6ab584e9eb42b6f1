# SPDX-License-Identifier: Apache-2.0
"""Plugins that look at one node: each one's effect, and the same words as kube-scheduler's for the same objects."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, assert_same, run_both
from tests.e2e.objects import HOSTNAME, on

from steersman.testing import is_in, make_node, make_pod
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

pytestmark = EACH_VERSION

NODES = [
    make_node("plain").capacity(cpu="4", memory="8Gi", **{"example.com/gpu": 2}),
    make_node("cordoned").capacity(cpu="4", memory="8Gi").unschedulable(),
    make_node("tainted").capacity(cpu="4", memory="8Gi").taint("dedicated", "batch"),
    make_node("evicting").capacity(cpu="4", memory="8Gi").taint("maintenance", effect="NoExecute"),
    make_node("crowded").capacity(cpu="4", memory="8Gi", pods=1),
    make_node("cached").capacity(cpu="4", memory="8Gi").image("example.com/big:v1", size=900_000_000),
    make_node("uncached").capacity(cpu="4", memory="8Gi"),
    make_node("shunned").capacity(cpu="4", memory="8Gi").taint("flaky", effect="PreferNoSchedule"),
    make_node("liked").capacity(cpu="4", memory="8Gi").label("pool", "score"),
    make_node("busy").capacity(cpu="4", memory="8Gi").label("pool", "load"),
    make_node("idle").capacity(cpu="4", memory="8Gi").label("pool", "load"),
]


ASSIGNED = [
    make_pod("occupant").node("crowded").req(cpu="10m"),
    make_pod("web-server").node("plain").host_port(8080),
    make_pod("load").node("busy").req(cpu="3", memory="6Gi"),
]
PODS = [
    on(make_pod("wants-cordoned"), "cordoned"),
    on(make_pod("tolerates-cordoned"), "cordoned").toleration("node.kubernetes.io/unschedulable", effect="NoSchedule"),
    on(make_pod("wants-tainted"), "tainted"),
    on(make_pod("tolerates-tainted"), "tainted").toleration("dedicated", "batch"),
    on(make_pod("wants-evicting"), "evicting"),
    on(make_pod("wants-crowded"), "crowded"),
    on(make_pod("wants-port"), "plain").host_port(8080),
    on(make_pod("other-port"), "plain").host_port(8081),
    on(make_pod("wants-much-cpu"), "plain").req(cpu="5"),
    on(make_pod("wants-much-memory"), "plain").req(memory="9Gi"),
    on(make_pod("wants-many-gpus"), "plain").req(**{"example.com/gpu": 3}),
    on(make_pod("wants-unknown-resource"), "plain").req(**{"example.com/fpga": 1}),
    on(make_pod("gets-gpus"), "plain").req(**{"example.com/gpu": 2}),
    on(make_pod("starts-large"), "plain").req(cpu="1").init_req(cpu="5"),
    on(make_pod("beside-large"), "plain").req(cpu="3").sidecar_req(cpu="3"),
    on(make_pod("large-as-a-whole"), "plain").req(cpu="1").pod_req(cpu="5"),
    on(make_pod("wants-disk"), "plain").req(ephemeral_storage="1Gi"),
    make_pod("selects-nothing").node_selector("pool", "none"),
    make_pod("by-field").required_node_affinity(fields=[is_in("metadata.name", "liked")]),
    make_pod("by-missing-field").required_node_affinity(fields=[is_in("metadata.name", "missing")]),
    on(make_pod("likes-image"), "cached", "uncached").image("example.com/big:v1"),
    on(make_pod("shuns-taint"), "shunned", "uncached"),
    on(make_pod("likes-label"), "liked", "uncached").preferred_node_affinity(50, is_in("pool", "score")),
    on(make_pod("likes-idle"), "busy", "idle").req(cpu="500m"),
    make_pod("fits-nowhere").req(cpu="100"),
]


def prepare(admin: KubeClient) -> None:
    admin.create_nodes(*(manifest(node.label(HOSTNAME, node.obj().metadata.name)) for node in NODES))
    admin.create_many([manifest(pod) for pod in [*ASSIGNED, *PODS]])


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare)


@pytest.mark.parametrize("pod", [pod.obj().metadata.name for pod in [*ASSIGNED, *PODS]])
def test_conditions_and_events_are_those_of_kube_scheduler(both: Both, pod: str) -> None:
    assert_same(both, pod)


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        ("tolerates-cordoned", "cordoned"),  # NodeUnschedulable
        ("tolerates-tainted", "tainted"),  # TaintToleration, filter
        ("shuns-taint", "uncached"),  # TaintToleration, score
        ("other-port", "plain"),  # NodePorts
        ("gets-gpus", "plain"),  # NodeResourcesFit, extended resources
        ("likes-idle", "idle"),  # NodeResourcesFit and NodeResourcesBalancedAllocation, score
        ("by-field", "liked"),  # NodeAffinity, filter
        ("likes-label", "liked"),  # NodeAffinity, score
        ("likes-image", "cached"),  # ImageLocality
        ("occupant", "crowded"),  # a pod that names its node is not scheduled at all
    ],
)
def test_the_pod_goes_where_the_plugin_sends_it(both: Both, pod: str, node: str) -> None:
    assert both.steersman.node(pod) == node


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        ("wants-cordoned", "1 node(s) were unschedulable"),
        ("wants-tainted", "2 node(s) had untolerated taint(s)"),
        ("wants-evicting", "2 node(s) had untolerated taint(s)"),
        ("wants-crowded", "1 Too many pods"),
        ("wants-port", "1 node(s) didn't have free ports for the requested pod ports"),
        ("wants-much-cpu", "1 Insufficient cpu"),
        ("wants-much-memory", "1 Insufficient memory"),
        ("wants-many-gpus", "1 Insufficient example.com/gpu"),
        ("wants-unknown-resource", "1 Insufficient example.com/fpga"),
        ("starts-large", "1 Insufficient cpu"),
        ("beside-large", "1 Insufficient cpu"),
        ("large-as-a-whole", "1 Insufficient cpu"),
        ("wants-disk", "1 Insufficient ephemeral-storage"),
        ("selects-nothing", "8 node(s) didn't match Pod's node affinity/selector"),
        ("by-missing-field", "11 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    ],
)
def test_the_pod_waits_and_its_condition_says_why(both: Both, pod: str, reason: str) -> None:
    assert both.steersman.node(pod) == ""
    assert reason in both.steersman.message(pod)


def test_a_pod_that_names_its_node_gets_no_event(both: Both) -> None:
    assert both.steersman.events_of("occupant") == []
