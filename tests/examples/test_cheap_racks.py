# SPDX-License-Identifier: Apache-2.0
"""A Python plugin decides which rack a group of pods goes to."""

from __future__ import annotations

from examples.plugins.cheap_racks import CheapRacks

from steersman import api
from steersman.testing import Harness, NodeBuilder, make_node, make_pod, make_pod_group

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}


def node(name: str, rack: str, price: int) -> NodeBuilder:
    return make_node(name).capacity(cpu="4", memory="8Gi", pods=10).label("rack", rack).label("price", str(price))


def rack_of_gang(*plugins: type[CheapRacks]) -> set[str]:
    """Return the racks of the members of a gang; without the plugin, the fuller rack is preferred."""
    nodes = [node("a1", "a", 90), node("a2", "a", 80), node("b1", "b", 10), node("b2", "b", 20), node("b3", "b", 30)]
    harness = Harness(plugins=plugins, nodes=nodes, gates=GATES, emulated_version="1.37")
    harness.add(make_pod_group("gang").gang(2).topology("rack"))
    members = [make_pod(f"m{number}").req(cpu="1").in_group("gang") for number in range(2)]
    for member in members:
        harness.add(member)
    harness.run()
    pods, _ = harness.cluster.list(api.Pod)
    found = {pod.spec.node_name[:1] for pod in pods}
    harness.close()
    return found


def test_a_group_goes_to_the_cheap_rack() -> None:
    assert rack_of_gang() == {"a"}
    assert rack_of_gang(CheapRacks) == {"b"}
