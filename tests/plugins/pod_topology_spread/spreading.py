# SPDX-License-Identifier: Apache-2.0
"""Shorthands for the tests of PodTopologySpread: a cluster of four nodes in two zones, and questions to the plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import NodeScore
from steersman.framework.status import Status
from steersman.scheduler.plugins.pod_topology_spread import PodTopologySpread
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

ZONE = "zone"
#: Selects the pods of `web`.
WEB = {"app": "web"}
NO_DEFAULTS = PodTopologySpreadArgs(defaulting_type=DefaultingType.LIST)


def web(name: str = "incoming") -> PodBuilder:
    return make_pod(name).labels(WEB)


def soft(pod: PodBuilder, key: str, max_skew: int = 1) -> PodBuilder:
    """With a constraint on the pods of `web` that is only preferred."""
    return pod.spread(key, max_skew=max_skew, when="ScheduleAnyway", selector=WEB)


def replicas(count: int, of: PodBuilder | None = None) -> list[PodBuilder]:
    pod = of or web()
    return [pod.name(f"replica-{number}") for number in range(count)]


def node(name: str, zone: str = "") -> NodeBuilder:
    labelled = make_node(name).label(api.HOSTNAME_LABEL, name)
    return labelled.label(ZONE, zone) if zone else labelled


NODE_A, NODE_B = node("a", "zone1"), node("b", "zone1")
NODE_X, NODE_Y = node("x", "zone2"), node("y", "zone2")


def four_nodes(a: int, b: int, x: int, y: int) -> list[PlainNodeInfo]:
    """Nodes a and b in zone1, x and y in zone2, with that many pods of `web` on each."""
    counts = zip((NODE_A, NODE_B, NODE_X, NODE_Y), (a, b, x, y), strict=True)
    return [built.info(*replicas(count)) for built, count in counts]


def spread_plugin(
    nodes: Sequence[PlainNodeInfo] = (),
    args: PodTopologySpreadArgs = NO_DEFAULTS,
    objects: Sequence[api.Object] = (),
    gates: Mapping[str, bool] | None = None,
) -> PodTopologySpread:
    return PodTopologySpread(args, FakeHandle(nodes=nodes, objects=objects, gates=gates))


def verdicts(
    pod: PodBuilder, nodes: Sequence[PlainNodeInfo], plugin: PodTopologySpread | None = None
) -> dict[str, Status | None]:
    """What Filter says of every node after PreFilter."""
    plugin, state, info = plugin or spread_plugin(nodes), CycleState(), pod.info()
    assert plugin.pre_filter(state, info, nodes) is None
    return {each.name: plugin.filter(state, info, each) for each in nodes}


def fitting(pod: PodBuilder, nodes: Sequence[PlainNodeInfo], plugin: PodTopologySpread | None = None) -> str:
    """The names of the nodes that pass, in one string: "ax"."""
    return "".join(name for name, status in verdicts(pod, nodes, plugin).items() if status is None)


def scores(
    pod: PodBuilder,
    feasible: Sequence[PlainNodeInfo],
    infeasible: Sequence[PlainNodeInfo] = (),
    plugin: PodTopologySpread | None = None,
) -> list[int]:
    """The normalised scores of the feasible nodes."""
    plugin, state, info = plugin or spread_plugin([*feasible, *infeasible]), CycleState(), pod.info()
    assert plugin.pre_score(state, info, feasible) is None
    entries = []
    for each in feasible:
        raw = plugin.score(state, info, each)
        assert isinstance(raw, int)
        entries.append(NodeScore(each.name, raw))
    assert plugin.normalize_scores(state, info, entries) is None
    return [entry.score for entry in entries]
