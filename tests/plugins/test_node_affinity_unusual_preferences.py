# SPDX-License-Identifier: Apache-2.0
"""Weights and terms that no API server admits: NodeAffinity's vector form treats them as its scalar form does."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, ChangingCluster
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.config import NodeAffinityArgs
from steersman.framework.columns import (
    MAX_RAW_SCORE,
    ClusterScoreKernel,
    KernelFault,
    ScoreKernel,
)
from steersman.framework.cycle_state import CycleState
from steersman.framework.nodes_view import ALL_ROWS
from steersman.framework.plugin import NodeScore, invalid_score
from steersman.framework.status import Code
from steersman.scheduler.plugins.node_affinity import NodeAffinity
from steersman.testing import is_in, make_node, make_pod

labels = st.dictionaries(st.sampled_from(["disk", "size"]), st.just("1"))
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, labels: make_node(name).labels(labels).obj(), st.sampled_from(NODE_NAMES), labels
)


def term(key: str, weight: int) -> api.PreferredSchedulingTerm:
    return api.PreferredSchedulingTerm(weight, api.NodeSelectorTerm((api.NodeSelectorRequirement(key, "Exists"),)))


def plugin_with(*preferred: api.PreferredSchedulingTerm) -> NodeAffinity:
    added = api.NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
    return NodeAffinity(NodeAffinityArgs(added_affinity=added), FakeHandle())


unusual_terms = st.builds(term, st.sampled_from(["disk", "size"]), st.sampled_from([-100, -1, 1, 100, 2**31 - 1]))


@examples(60)
@given(st.lists(nodes, min_size=2, max_size=4), st.lists(unusual_terms, min_size=1, max_size=3), st.data())
def test_weights_beyond_all_bounds_are_scaled_alike_or_complained_of(
    nodes: list[api.Node], terms: list[api.PreferredSchedulingTerm], data: st.DataObject
) -> None:
    cluster, plugin = ChangingCluster(), plugin_with(*terms)
    for node in nodes:
        cluster.apply(node)
    kernel = plugin.score_kernel(make_pod().info(), cluster.table)
    if isinstance(kernel, ClusterScoreKernel):
        rows = data.draw(st.lists(st.sampled_from(list(cluster.table.live_rows())), min_size=1, unique=True))
        assert outcome(kernel, cluster, rows) == scalar_outcome(plugin, cluster, rows)
    else:
        assert isinstance(kernel, ScoreKernel)
        assert all(0 <= raw <= MAX_RAW_SCORE for raw in kernel.rows(ALL_ROWS))


def outcome(kernel: ClusterScoreKernel, cluster: ChangingCluster, rows: list[int]) -> dict[int, int] | Code:
    try:
        scores = kernel.normalized(cluster.feasible(rows))
    except KernelFault as complaint:
        return complaint.status.code
    assert scores is not None
    assert not scores[[row for row in cluster.table.live_rows() if row not in rows]].any()
    return {row: scores[row] for row in rows}


def scalar_outcome(plugin: NodeAffinity, cluster: ChangingCluster, rows: list[int]) -> dict[int, int] | Code:
    state, pod = CycleState(), make_pod().info()
    assert plugin.pre_score(state, pod, ()) is None
    entries = []
    for row in rows:
        score = plugin.score(state, pod, cluster.table.info(row))
        assert isinstance(score, int)
        entries.append(NodeScore(str(row), score))
    plugin.normalize_scores(state, pod, entries)
    negative = any(entry.score < 0 for entry in entries)
    return Code.ERROR if negative else {int(entry.name): entry.score for entry in entries}


def test_a_negative_score_is_a_fault_of_the_plugin() -> None:
    cluster = ChangingCluster()
    cluster.apply(make_node("a").label("disk", "ssd").obj())
    plugin = plugin_with(term("disk", -3))
    kernel = plugin.score_kernel(make_pod().info(), cluster.table)
    assert isinstance(kernel, ClusterScoreKernel)

    with pytest.raises(KernelFault) as raised:
        kernel.normalized(cluster.feasible([0]))

    assert raised.value.status == invalid_score("NodeAffinity", -3)


def test_preferences_that_cannot_be_understood_are_a_fault_once_nodes_are_scored() -> None:
    cluster = ChangingCluster()
    pod = make_pod().preferred_node_affinity(1, is_in("invalid key", "bar"))
    plugin = NodeAffinity(NodeAffinityArgs(), FakeHandle())
    kernel = plugin.score_kernel(pod.info(), cluster.table)
    assert isinstance(kernel, ClusterScoreKernel)

    with pytest.raises(KernelFault) as raised:
        kernel.skipped(cluster.feasible([]))

    status = raised.value.status
    assert (status.code, status.plugin) == (Code.ERROR, "NodeAffinity")
    assert status.message.startswith(
        'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].key: Invalid value'
    )
