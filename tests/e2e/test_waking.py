# SPDX-License-Identifier: Apache-2.0
"""Pending pods are tried again when the world changes in a way that may help them."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both
from tests.e2e.objects import HOSTNAME, ZONE, on
from tests.e2e.pictures import picture

from steersman.testing import make_claim, make_node, make_pod, make_volume
from steersman.testing.control_plane import ControlPlane, KubeClient, manifest

pytestmark = EACH_VERSION

NODES = [
    make_node("cordoned").capacity(cpu="4", memory="8Gi").unschedulable(),
    make_node("tainted").capacity(cpu="4", memory="8Gi").taint("k"),
    make_node("unlabelled").capacity(cpu="4", memory="8Gi"),
    make_node("full").capacity(cpu="1", memory="8Gi"),
    make_node("small").capacity(cpu="1", memory="8Gi"),
    make_node("port").capacity(cpu="4", memory="8Gi"),
    make_node("lonely").capacity(cpu="4", memory="8Gi").label(ZONE, "z"),
]
ASSIGNED = [
    make_pod("hog").node("full").req(cpu="1"),
    make_pod("server").node("port").host_port(80),
]
PODS = [
    on(make_pod("until-uncordoned"), "cordoned"),
    on(make_pod("until-untainted"), "tainted"),
    make_pod("until-labelled").node_selector("disk", "ssd"),
    on(make_pod("until-hog-leaves"), "full").req(cpu="1"),
    on(make_pod("until-grown"), "small").req(cpu="2"),
    on(make_pod("until-port-is-free"), "port").host_port(80),
    on(make_pod("until-friend-comes"), "lonely").pod_affinity(ZONE, {"app": "friend"}),
    on(make_pod("until-claim-exists"), "lonely").pvc("late"),
    on(make_pod("until-node-exists"), "new"),
    on(make_pod("until-tolerant"), "evil"),
]


def prepare(admin: KubeClient) -> None:
    evil = make_node("evil").capacity(cpu="4", memory="8Gi").taint("evil")
    admin.create_nodes(*(manifest(node.label(HOSTNAME, node.obj().metadata.name)) for node in [*NODES, evil]))
    admin.create_many([manifest(pod) for pod in [*ASSIGNED, *PODS]])


def help_all(admin: KubeClient) -> None:
    """Each pod gets what it waits for, after all have been refused."""
    admin.wait_until(lambda: picture(admin).decided(), what="a decision about every pod")
    admin.patch("Node", "cordoned", {"spec": {"unschedulable": False, "taints": None}})
    admin.patch("Node", "tainted", {"spec": {"taints": None}})
    admin.patch("Node", "unlabelled", {"metadata": {"labels": {"disk": "ssd"}}})
    admin.delete("Pod", "hog")
    larger = {"cpu": "2", "memory": "8Gi", "pods": "110"}
    admin.patch("Node", "small", {"status": {"allocatable": larger, "capacity": larger}}, subresource="status")
    admin.delete("Pod", "server")
    admin.create(manifest(make_pod("friend").label("app", "friend").node("lonely")))
    admin.create(manifest(make_volume("late").offers("1Gi").csi("disk.example.com").storage_class("none")))
    admin.create_with_status(manifest(make_claim("late").asks("1Gi").storage_class("none").bound("late")))
    admin.create_nodes(manifest(make_node("new").capacity(cpu="4", memory="8Gi").label(HOSTNAME, "new")))
    tolerant = [{"key": "evil", "operator": "Exists"}, *admin.get("Pod", "until-tolerant")["spec"]["tolerations"]]
    admin.patch("Pod", "until-tolerant", {"spec": {"tolerations": tolerant}})


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare, act=help_and_wait)


def help_and_wait(admin: KubeClient) -> None:
    help_all(admin)
    names = [pod.obj().metadata.name for pod in PODS]
    admin.wait_until(
        lambda: all(admin.get("Pod", name)["spec"].get("nodeName") for name in names), what="all pods placed"
    )


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        ("until-uncordoned", "cordoned"),
        ("until-untainted", "tainted"),
        ("until-labelled", "unlabelled"),
        ("until-hog-leaves", "full"),
        ("until-grown", "small"),
        ("until-port-is-free", "port"),
        ("until-friend-comes", "lonely"),
        ("until-claim-exists", "lonely"),
        ("until-node-exists", "new"),
        ("until-tolerant", "evil"),
    ],
)
def test_the_pod_is_placed_when_what_it_waited_for_has_come(both: Both, pod: str, node: str) -> None:
    assert both.steersman.node(pod) == node


def test_all_pods_end_as_with_kube_scheduler(both: Both) -> None:
    assert both.steersman.pods == both.upstream.pods
