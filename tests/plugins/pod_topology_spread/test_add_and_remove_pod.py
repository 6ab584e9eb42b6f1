# SPDX-License-Identifier: Apache-2.0
"""The counts follow pods that are added to or removed from a node in a "what if" question."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import (
    NODE_A,
    NODE_B,
    NODE_X,
    WEB,
    ZONE,
    four_nodes,
    spread_plugin,
    web,
)

from steersman.api import HOSTNAME_LABEL
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import error
from steersman.scheduler.plugins.pod_topology_spread.plugin import ERR_NO_PRE_FILTER
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import PodBuilder, make_node, make_pod


class WhatIf:
    """One pod's PreFilter state over some nodes, with pods coming and going."""

    def __init__(self, pod: PodBuilder, nodes: list[PlainNodeInfo]) -> None:
        self.plugin = spread_plugin(nodes)
        self.pod = pod.info()
        self.nodes = {node.name: node for node in nodes}
        self.state = CycleState()
        assert self.plugin.pre_filter(self.state, self.pod, nodes) is None

    def add(self, pod: PodBuilder, node: str) -> None:
        assert self.plugin.add_pod(self.state, self.pod, pod.info(), self.nodes[node]) is None

    def remove(self, pod: PodBuilder, node: str) -> None:
        assert self.plugin.remove_pod(self.state, self.pod, pod.info(), self.nodes[node]) is None

    def fitting(self, state: CycleState | None = None) -> str:
        state = state or self.state
        return "".join(n for n, node in self.nodes.items() if self.plugin.filter(state, self.pod, node) is None)


@pytest.mark.parametrize(("key", "before", "after"), [(ZONE, "xy", "abxy"), (HOSTNAME_LABEL, "x", "x")])
def test_an_added_pod_counts(key: str, before: str, after: str) -> None:
    cluster = WhatIf(web().spread(key, selector=WEB), four_nodes(2, 1, 0, 2))

    assert cluster.fitting() == before
    cluster.add(web("new"), "y")
    assert cluster.fitting() == after


def test_the_least_count_rises_when_the_emptiest_domain_fills() -> None:
    cluster = WhatIf(web().spread(HOSTNAME_LABEL, selector=WEB), four_nodes(2, 1, 0, 2))

    cluster.add(web("new"), "x")
    assert cluster.fitting() == "bx"
    cluster.add(web("newer"), "x")
    assert cluster.fitting() == "b"


def test_a_removed_pod_counts_no_longer() -> None:
    cluster = WhatIf(web().spread(HOSTNAME_LABEL, selector=WEB), four_nodes(2, 1, 1, 1))

    assert cluster.fitting() == "bxy"
    cluster.remove(web("old"), "x")
    assert cluster.fitting() == "x"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(make_pod().label("app", "db"), id="not selected"),
        pytest.param(web("other").namespace("elsewhere"), id="of another namespace"),
    ],
)
def test_pods_that_do_not_match_change_nothing(other: PodBuilder) -> None:
    cluster = WhatIf(web().spread(ZONE, selector=WEB), four_nodes(2, 1, 0, 2))

    cluster.add(other, "y")
    assert cluster.fitting() == "xy"


def test_pods_on_nodes_that_do_not_count_change_nothing() -> None:
    nodes = [NODE_A.label("disk", "ssd").info(), NODE_B.info(), NODE_X.label("disk", "ssd").info()]
    cluster = WhatIf(web().node_selector("disk", "ssd").spread(ZONE, selector=WEB), nodes)

    cluster.add(web("one"), "b")
    assert cluster.fitting() == "abx"
    cluster.add(web("two"), "a")
    assert cluster.fitting() == "x"


def test_pods_on_nodes_without_all_labels_change_nothing() -> None:
    cluster = WhatIf(web().spread(ZONE, selector=WEB), [NODE_A.info(), NODE_X.info(), make_node("bare").info()])

    cluster.add(web("new"), "bare")
    assert cluster.fitting() == "ax"


def test_a_copy_of_the_state_has_counts_of_its_own() -> None:
    cluster = WhatIf(web().spread(ZONE, selector=WEB), four_nodes(0, 0, 0, 0))
    before = cluster.state.clone()

    cluster.add(web("new"), "a")

    assert cluster.fitting() == "xy"
    assert cluster.fitting(before) == "abxy"


def test_without_pre_filter_it_is_a_fault() -> None:
    plugin, pod, node = spread_plugin(), web().info(), NODE_A.info()

    assert plugin.add_pod(CycleState(), pod, pod, node) == error(ERR_NO_PRE_FILTER)
    assert plugin.remove_pod(CycleState(), pod, pod, node) == error(ERR_NO_PRE_FILTER)
