# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit scores a placement by how much of all its nodes the group would use."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.plugins.handles import FakeHandle
from tests.plugins.node_resources.fitting import GPU, resources, strategy

from steersman.config import NodeResourcesFitArgs, ResourceSpec, ScoringStrategy, ScoringStrategyType
from steersman.framework import (
    CycleState,
    GroupKey,
    GroupKind,
    NodeInfo,
    Placement,
    PodGroupAssignments,
    PodGroupInfo,
    ProposedAssignment,
)
from steersman.scheduler.plugins.node_resources import NodeResourcesFit
from steersman.testing import PodBuilder, make_node, make_pod

GROUP = PodGroupInfo(GroupKey(GroupKind.POD_GROUP, "default", "gang"))


def score(pods: Sequence[PodBuilder], nodes: Sequence[NodeInfo], scoring: ScoringStrategy | None = None) -> int:
    args = NodeResourcesFitArgs() if scoring is None else NodeResourcesFitArgs(scoring_strategy=scoring)
    placement = Placement("r1", tuple(node.name for node in nodes))
    assignments = tuple(ProposedAssignment(pod.info(), nodes[0].name, CycleState()) for pod in pods)
    plugin = NodeResourcesFit(args, FakeHandle(nodes=nodes))
    return plugin.score_placement(CycleState(), GROUP, PodGroupAssignments(placement, assignments))


def two_nodes(*running: PodBuilder) -> list[NodeInfo]:
    return [
        make_node("n1").capacity(cpu=4, memory=4000).info(*running),
        make_node("n2").capacity(cpu=6, memory=6000).info(),
    ]


@pytest.mark.parametrize("kind", ScoringStrategyType)
def test_the_score_is_the_used_share_whatever_the_strategy_is(kind: ScoringStrategyType) -> None:
    running, members = make_pod("running").req(cpu=1, memory=0), [make_pod().req(cpu=2, memory=1000)] * 2
    # cpu: (1 + 2 · 2) of 10; memory: 2 · 1000 of 10000.
    assert score(members, two_nodes(running), strategy(kind)) == (50 + 20) // 2


def test_weights_count() -> None:
    scoring = strategy(ScoringStrategyType.LEAST_ALLOCATED, resources(cpu=3, memory=1))
    assert score([make_pod().req(cpu=5, memory=1000)], two_nodes(), scoring) == (3 * 50 + 10) // 4


def test_members_that_request_nothing_count_with_the_minimum() -> None:
    scoring = strategy(ScoringStrategyType.LEAST_ALLOCATED, resources(cpu=1))
    assert score([make_pod().container()] * 10, two_nodes(), scoring) == 10


def test_a_scalar_resource_counts_if_members_request_it() -> None:
    nodes = [make_node("n1").capacity(**{GPU: 4}).info(make_pod("running").req(**{GPU: 1})), make_node("n2").info()]
    scoring = strategy(ScoringStrategyType.LEAST_ALLOCATED, (ResourceSpec(name=GPU, weight=1),))
    assert score([make_pod().req(**{GPU: 1})], nodes, scoring) == 50
    assert score([make_pod().req(cpu=1)], nodes, scoring) == 0


def test_more_than_all_is_all() -> None:
    scoring = strategy(ScoringStrategyType.LEAST_ALLOCATED, resources(cpu=1))
    assert score([make_pod().req(cpu=8)] * 2, two_nodes(), scoring) == 100
