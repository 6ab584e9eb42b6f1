# SPDX-License-Identifier: Apache-2.0
"""Plugins that look at the pods of other nodes: spreading and pod affinity, with kube-scheduler's words."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, assert_same, run_both
from tests.e2e.objects import HOSTNAME, ZONE, headless, on

from steersman.testing import make_namespace, make_node, make_pod, make_service
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

pytestmark = EACH_VERSION

ZONES = {"a1": "a", "a2": "a", "b1": "b", "c1": "c"}
ASSIGNED = [
    make_pod("spread-1").label("app", "spread").node("a1"),
    make_pod("spread-2").label("app", "spread").node("a2"),
    make_pod("crowd-1").label("app", "crowd").node("a1"),
    make_pod("soft-1").label("app", "soft").node("a1"),
    make_pod("soft-2").label("app", "soft").node("a1"),
    make_pod("served-1").label("app", "served").node("a1"),
    make_pod("served-2").label("app", "served").node("a1"),
    make_pod("database").label("app", "database").node("c1"),
    make_pod("loner").label("app", "loner").anti_affinity(HOSTNAME, {"app": "noise"}).node("b1"),
    *(make_pod(f"everywhere-{node}").label("app", "everywhere").node(node) for node in ("a1", "b1", "c1")),
    make_pod("neighbour").namespace("team").label("app", "neighbour").node("b1"),
]
PODS = [
    on(make_pod("spreads"), "a1", "a2", "b1").label("app", "spread").spread(ZONE, selector={"app": "spread"}),
    on(make_pod("cannot-spread"), "a1")
    .label("app", "crowd")
    .spread(ZONE, selector={"app": "crowd"}, node_affinity_policy="Ignore"),
    on(make_pod("needs-more-zones"), "a1")
    .label("app", "everywhere")
    .spread(ZONE, selector={"app": "everywhere"}, min_domains=5, node_taints_policy="Honor"),
    on(make_pod("overlooks-tainted-zones"), "b1")
    .label("app", "everywhere")
    .spread(ZONE, selector={"app": "everywhere"}, node_affinity_policy="Ignore", node_taints_policy="Honor"),
    on(make_pod("sees-tainted-zones"), "b1")
    .label("app", "everywhere")
    .spread(ZONE, selector={"app": "everywhere"}, node_affinity_policy="Ignore"),
    on(make_pod("counts-its-own-version"), "a1")
    .labels({"app": "crowd", "version": "2"})
    .spread(ZONE, selector={"app": "crowd"}, match_label_keys=["version"], node_affinity_policy="Ignore"),
    make_pod("spreads-over-racks").spread("rack", selector={"app": "any"}),
    on(make_pod("spreads-softly"), "a1", "b1")
    .label("app", "soft")
    .spread(HOSTNAME, when="ScheduleAnyway", selector={"app": "soft"}),
    on(make_pod("spreads-by-default"), "a1", "b1").label("app", "served"),
    make_pod("near").pod_affinity(ZONE, {"app": "database"}),
    make_pod("near-nothing").pod_affinity(ZONE, {"app": "missing"}),
    on(make_pod("pioneer"), "c1").label("app", "pioneer").pod_affinity(ZONE, {"app": "pioneer"}),
    on(make_pod("apart"), "c1").anti_affinity(ZONE, {"app": "database"}),
    on(make_pod("noise"), "b1").label("app", "noise"),
    make_pod("near-team").pod_affinity(HOSTNAME, {"app": "neighbour"}, namespace_selector={"team": "x"}),
    make_pod("not-near-team").pod_affinity(HOSTNAME, {"app": "neighbour"}),
    on(make_pod("likes-database"), "b1", "c1").pod_affinity(ZONE, {"app": "database"}, weight=100),
    on(make_pod("dislikes-database"), "b1", "c1").anti_affinity(ZONE, {"app": "database"}, weight=100),
]


def prepare(admin: KubeClient) -> None:
    admin.create(manifest(make_namespace("team").label("team", "x")))
    tainted = make_node("d1").capacity(cpu="64", memory="256Gi").labels({ZONE: "d", HOSTNAME: "d1"}).taint("k")
    admin.create_nodes(manifest(tainted))
    nodes = (make_node(name).capacity(cpu="64", memory="256Gi").label(ZONE, zone) for name, zone in ZONES.items())
    admin.create_nodes(*(manifest(node.label(HOSTNAME, node.obj().metadata.name)) for node in nodes))
    admin.create(headless(make_service("served").selector({"app": "served"})))
    admin.create_many([manifest(pod) for pod in [*ASSIGNED, *PODS]])


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare)


@pytest.mark.parametrize("pod", [pod.obj().metadata.name for pod in PODS])
def test_conditions_and_events_are_those_of_kube_scheduler(both: Both, pod: str) -> None:
    assert_same(both, pod)


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        ("spreads", "b1"),
        ("spreads-softly", "b1"),
        ("spreads-by-default", "b1"),
        ("counts-its-own-version", "a1"),
        ("overlooks-tainted-zones", "b1"),
        ("near", "c1"),
        ("pioneer", "c1"),
        ("near-team", "b1"),
        ("likes-database", "c1"),
        ("dislikes-database", "b1"),
    ],
)
def test_the_pod_goes_where_the_plugin_sends_it(both: Both, pod: str, node: str) -> None:
    assert both.steersman.node(pod) == node


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        ("cannot-spread", "1 node(s) didn't match pod topology spread constraints"),
        ("needs-more-zones", "1 node(s) didn't match pod topology spread constraints"),
        ("sees-tainted-zones", "1 node(s) didn't match pod topology spread constraints"),
        ("spreads-over-racks", "4 node(s) didn't match pod topology spread constraints (missing required label)"),
        ("near-nothing", "4 node(s) didn't match pod affinity rules"),
        ("apart", "1 node(s) didn't match pod anti-affinity rules"),
        ("noise", "1 node(s) didn't satisfy existing pods anti-affinity rules"),
        ("not-near-team", "4 node(s) didn't match pod affinity rules"),
    ],
)
def test_the_pod_waits_and_its_condition_says_why(both: Both, pod: str, reason: str) -> None:
    assert both.steersman.node(pod) == ""
    assert reason in both.steersman.message(pod)
