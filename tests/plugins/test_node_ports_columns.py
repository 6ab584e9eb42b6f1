# SPDX-License-Identifier: Apache-2.0
"""NodePorts says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, POD_NAMES, Change, ChangingCluster, FilterCheck, changes

from steersman import api
from steersman.scheduler.plugins.node_ports import NodePorts
from steersman.testing import PodBuilder, make_node, make_pod

ports = st.lists(
    st.tuples(
        st.sampled_from([80, 81]),
        st.sampled_from(["TCP", "UDP", ""]),
        st.sampled_from(["", "0.0.0.0", "127.0.0.1", "10.0.0.1"]),
    ),
    max_size=3,
)
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, disk: make_node(name).label("disk", disk).obj(),
    st.sampled_from(NODE_NAMES),
    st.sampled_from(["ssd", "hdd"]),
)


def listening(name: str, ports: list[tuple[int, str, str]]) -> PodBuilder:
    pod = make_pod(name)
    for port, protocol, ip in ports:
        pod = pod.host_port(port, protocol=protocol, ip=ip)
    return pod


def running(name: str, ports: list[tuple[int, str, str]], node: str, ends: bool) -> api.Pod:
    pod = listening(name, ports).node(node)
    return pod.terminating().obj() if ends else pod.obj()


running_pods: st.SearchStrategy[api.Pod] = st.builds(
    running, st.sampled_from(POD_NAMES), ports, st.sampled_from(NODE_NAMES), st.booleans()
)


@examples(120)
@given(changes(nodes, running_pods), st.lists(ports, min_size=1, max_size=4))
def test_vector_and_scalar_form_agree(story: list[Change], wanted: list[list[tuple[int, str, str]]]) -> None:
    cluster = ChangingCluster()
    check = FilterCheck(NodePorts(), cluster)
    for change in story:
        cluster.apply(change)
        for ports in wanted:
            check(cluster.shapes.info(listening("waiting", ports).obj()))


def test_pods_that_want_the_same_ports_share_a_column() -> None:
    one = make_pod("one").host_port(80).host_port(81, ip="10.0.0.1")
    other = make_pod("other").req(cpu="1").host_port(81, ip="10.0.0.1").host_port(80, ip="0.0.0.0").host_port(80)

    assert NodePorts().filter_fragment(one.info()) == NodePorts().filter_fragment(other.info())
