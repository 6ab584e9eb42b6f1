# SPDX-License-Identifier: Apache-2.0
"""Runs the extension points of InterPodAffinity over a small cluster, as a scheduling cycle would.

The kernels are asked about every such cluster as well, and must say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.plugins.handles import FakeHandle
from tests.plugins.inter_pod_affinity.column_cluster import AffinityCluster, Probe

from steersman import api
from steersman.config import InterPodAffinityArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import NodeScore
from steersman.framework.status import Status
from steersman.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from steersman.scheduler.state.plain_node import PlainNodeInfo
from steersman.testing import NodeBuilder, PodBuilder, make_namespace, make_node, node_infos

TEAMS = (
    make_namespace("subteam1.team1").label("team", "team1").obj(),
    make_namespace("subteam2.team1").label("team", "team1").obj(),
    make_namespace("subteam1.team2").label("team", "team2").obj(),
    make_namespace("subteam2.team2").label("team", "team2").obj(),
)
"""Namespaces of two teams, as namespace selectors like them."""


class Cycle:
    """One pod against a cluster; `state` is what the plugin has written."""

    def __init__(
        self,
        pod: PodBuilder,
        nodes: Sequence[NodeBuilder],
        existing: Iterable[PodBuilder] = (),
        namespaces: Sequence[api.Namespace] = (),
        args: InterPodAffinityArgs | None = None,
    ) -> None:
        self.pod = pod.info()
        pods = _distinct(existing)
        self.nodes = node_infos([node.obj() for node in nodes], [pod.obj() for pod in pods])
        self.state = CycleState()
        handle = FakeHandle(objects=namespaces, nodes=self.nodes)
        args = args or InterPodAffinityArgs()
        self.plugin = InterPodAffinity(args, handle)
        Probe(self.pod, AffinityCluster.holding(nodes, pods, namespaces), args).compare()

    def node(self, name: str) -> PlainNodeInfo:
        return next(node for node in self.nodes if node.name == name)

    def pre_filter(self) -> Status | None:
        return self.plugin.pre_filter(self.state, self.pod, self.nodes)

    def verdicts(self) -> list[Status | None]:
        """What Filter says of each node, after a PreFilter that found something to check."""
        assert self.pre_filter() is None
        return self.filter_all()

    def filter_all(self) -> list[Status | None]:
        return [self.plugin.filter(self.state, self.pod, node) for node in self.nodes]

    def pre_score(self) -> Status | None:
        return self.plugin.pre_score(self.state, self.pod, self.nodes)

    def raw_scores(self) -> list[int]:
        assert self.pre_score() is None
        scores = [self.plugin.score(self.state, self.pod, node) for node in self.nodes]
        return [score for score in scores if isinstance(score, int)]

    def scores(self) -> list[int]:
        """Normalised."""
        entries = [NodeScore(n.name, s) for n, s in zip(self.nodes, self.raw_scores(), strict=True)]
        assert self.plugin.normalize_scores(self.state, self.pod, entries) is None
        return [entry.score for entry in entries]


def node_in(name: str, **labels: str) -> NodeBuilder:
    return make_node(name).labels(labels)


def _distinct(pods: Iterable[PodBuilder]) -> list[PodBuilder]:
    return [pod.name(f"existing-{number}") for number, pod in enumerate(pods)]
