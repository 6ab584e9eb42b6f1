# SPDX-License-Identifier: Apache-2.0
from steersman import api
from steersman.testing import make_node, make_pod, node_infos


def test_capacity_is_allocatable_by_default() -> None:
    status = make_node().capacity(cpu="4", memory="8Gi").allocatable(cpu="3").obj().status
    assert status.capacity == {"pods": 110, "cpu": "4", "memory": "8Gi"}
    assert status.allocatable == {"pods": 110, "cpu": "3", "memory": "8Gi"}


def test_taints_and_cordon() -> None:
    spec = make_node().taint("dedicated", "db").taint("slow", effect="PreferNoSchedule").unschedulable().obj().spec
    assert spec.taints == (
        api.Taint(key="dedicated", value="db", effect="NoSchedule"),
        api.Taint(key="slow", effect="PreferNoSchedule"),
    )
    assert spec.unschedulable


def test_images_conditions_and_features() -> None:
    status = (
        make_node()
        .image("nginx", "nginx:1", size=7)
        .condition("Ready", "True")
        .declared_features("A", "B")
        .obj()
        .status
    )
    assert status.images == (api.ContainerImage(names=("nginx", "nginx:1"), size_bytes=7),)
    assert status.conditions == (api.Condition(type="Ready", status="True"),)
    assert status.declared_features == ("A", "B")


def test_info_puts_the_pods_on_the_node() -> None:
    info = make_node("n1").capacity(cpu="4").info(make_pod("a").req(cpu="1"), make_pod("b").req(cpu="500m"))
    assert info.requested("cpu") == 1500
    assert {pod.node_name for pod in info.pods} == {"n1"}
    assert info.allowed_pods == 110


def test_node_infos_distributes_pods_by_their_node_name() -> None:
    nodes = [make_node("n1").obj(), make_node("n2").obj()]
    pods = [make_pod("a").node("n2").obj(), make_pod("pending").obj(), make_pod("lost").node("n3").obj()]
    first, second = node_infos(nodes, pods)
    assert (first.pod_count, second.pod_count) == (0, 1)


def test_node_infos_counts_the_nodes_that_have_an_image() -> None:
    nodes = [make_node(name).image("nginx", size=9).obj() for name in ("n1", "n2")] + [make_node("n3").obj()]
    first, _, third = node_infos(nodes)
    assert (first.image_states["nginx"].size, first.image_states["nginx"].num_nodes) == (9, 2)
    assert third.image_states == {}
