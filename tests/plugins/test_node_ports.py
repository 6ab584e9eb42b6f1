# SPDX-License-Identifier: Apache-2.0
"""Two pods cannot use the same host port of a node."""

from __future__ import annotations

import pytest

from steersman.api import Container, ContainerPort, Pod, PodSpec
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodShapes
from steersman.framework.status import SKIP, Code, Status, unschedulable
from steersman.scheduler.plugins.node_ports import ERR_REASON, NodePorts
from steersman.testing import PodBuilder, make_node, make_pod

CONFLICT = unschedulable(ERR_REASON)


def with_ports(name: str, ports: str) -> PodBuilder:
    """A pod with host ports written as `TCP/127.0.0.1/8080 UDP/10.0.0.1/53`."""
    builder = make_pod(name)
    for text in ports.split():
        protocol, ip, port = text.split("/")
        builder = builder.host_port(int(port), protocol=protocol, ip=ip)
    return builder


def verdict(wanted: str, used: str) -> Status | None:
    plugin, state = NodePorts(), CycleState()
    pod, node = with_ports("pod", wanted).info(), make_node().info(with_ports("running", used))
    assert plugin.pre_filter(state, pod, [node]) is None
    return plugin.filter(state, pod, node)


@pytest.mark.parametrize(
    ("wanted", "used"),
    [
        pytest.param("UDP/127.0.0.1/8080", "UDP/127.0.0.1/9090", id="another port"),
        pytest.param("TCP/127.0.0.1/8080", "TCP/127.0.0.2/8080", id="another address"),
        pytest.param("UDP/127.0.0.1/8080", "TCP/127.0.0.1/8080", id="another protocol"),
        pytest.param("UDP/127.0.0.1/8001", "TCP/0.0.0.0/8001", id="another protocol on all addresses"),
        pytest.param(
            "TCP/127.0.0.1/80 TCP/127.0.1.1/80 TCP/127.0.1.1/90",
            "TCP/127.0.0.1/9090 TCP/127.0.0.1/90 TCP/127.0.1.1/8080",
            id="several ports, each different in something",
        ),
        pytest.param("TCP/127.0.0.1/8080", "", id="no port in use"),
    ],
)
def test_different_host_ports_go_together(wanted: str, used: str) -> None:
    assert verdict(wanted, used) is None


@pytest.mark.parametrize(
    ("wanted", "used"),
    [
        pytest.param("UDP/127.0.0.1/8080", "UDP/127.0.0.1/8080", id="same udp port"),
        pytest.param("TCP/127.0.0.1/8080", "TCP/127.0.0.1/8080", id="same tcp port"),
        pytest.param("UDP/127.0.0.1/8000 UDP/127.0.0.1/8080", "UDP/127.0.0.1/8080", id="second of two"),
        pytest.param(
            "TCP/127.0.0.1/8001 UDP/127.0.0.1/8080", "TCP/127.0.0.1/8001 UDP/127.0.0.1/8081", id="first of two"
        ),
        pytest.param("TCP/0.0.0.0/8001", "TCP/127.0.0.1/8001", id="wants all addresses"),
        pytest.param("TCP/10.0.10.10/8001 TCP/0.0.0.0/8001", "TCP/127.0.0.1/8001", id="wants one address and all"),
        pytest.param("TCP/127.0.0.1/8001", "TCP/0.0.0.0/8001", id="all addresses in use"),
        pytest.param("UDP/127.0.0.1/8001", "TCP/0.0.0.0/8001 UDP/0.0.0.0/8001", id="both protocols in use"),
        pytest.param("TCP//8001", "TCP/127.0.0.1/8001", id="no address means all addresses"),
        pytest.param("TCP/127.0.0.1/8001", "TCP//8001", id="in use without address means all addresses"),
        pytest.param("/127.0.0.1/8001", "TCP/127.0.0.1/8001", id="no protocol means tcp"),
    ],
)
def test_the_same_host_port_is_a_conflict(wanted: str, used: str) -> None:
    assert verdict(wanted, used) == CONFLICT


def test_a_pod_without_host_ports_leaves_the_plugin_out() -> None:
    assert NodePorts().pre_filter(CycleState(), make_pod().req(cpu="1").info(), []) is SKIP


def pod_with_init_container_port(restart_policy: str | None) -> Pod:
    init = Container(name="init", restart_policy=restart_policy, ports=(ContainerPort(host_port=8001),))
    return Pod(spec=PodSpec(init_containers=(init,)))


def test_ports_of_an_ordinary_init_container_do_not_count() -> None:
    pod = PodShapes().info(pod_with_init_container_port(None))

    assert NodePorts().pre_filter(CycleState(), pod, []) is SKIP


def test_ports_of_a_sidecar_count() -> None:
    plugin, state, pod = NodePorts(), CycleState(), PodShapes().info(pod_with_init_container_port("Always"))

    assert plugin.pre_filter(state, pod, []) is None
    assert plugin.filter(state, pod, make_node().info(with_ports("running", "TCP/0.0.0.0/8001"))) == CONFLICT


def test_without_pre_filter_the_filter_reports_a_fault() -> None:
    status = NodePorts().filter(CycleState(), make_pod().host_port(80).info(), make_node().info())

    assert status == Status(Code.ERROR, ('reading "PreFilterNodePorts" from cycleState: not found',))
