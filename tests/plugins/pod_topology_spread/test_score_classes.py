# SPDX-License-Identifier: Apache-2.0
"""Scores computed once per class of rows are those computed row by row."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.equivalence.examples import search
from tests.plugins.pod_topology_spread.column_cluster import SpreadCluster, uncrowded
from tests.plugins.pod_topology_spread.spreading import NODE_A, NODE_X, WEB, ZONE, node, web

from steersman.api import HOSTNAME_LABEL
from steersman.api.selectors import from_labels
from steersman.framework.columns import Feasible
from steersman.framework.nodes_view import AnyIntColumn, BoolColumn
from steersman.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint
from steersman.scheduler.plugins.pod_topology_spread.row_scores import SoftConstraints, SpreadRowScores
from steersman.scheduler.plugins.pod_topology_spread.score_classes import ScoreClasses
from steersman.testing import NodeBuilder, make_node

RACK = "rack"
NODES = tuple(f"node{n}" for n in range(12))
PODS = tuple(f"pod{n}" for n in range(40))
CONSTRAINTS = {
    HOSTNAME_LABEL: SpreadConstraint(3, HOSTNAME_LABEL, from_labels(WEB)),
    ZONE: SpreadConstraint(5, ZONE, from_labels(WEB)),
    RACK: SpreadConstraint(1, RACK, from_labels({"app": "db"})),
}


def constraints_on(keys: tuple[str, ...], cluster: SpreadCluster, *, require_all_keys: bool = False) -> SoftConstraints:
    return SoftConstraints(
        [CONSTRAINTS[key] for key in keys],
        web().obj(),
        cluster.table,
        require_all_keys=require_all_keys,
        comparison_operators=False,
    )


@st.composite
def some_nodes(draw: st.DrawFn) -> NodeBuilder:
    built = node(draw(st.sampled_from(NODES)), draw(st.sampled_from(["", "a", "a", "b", "c"])))
    return built.label(RACK, "r1") if draw(st.booleans()) else built


class Placements(RuleBasedStateMachine):
    """Pods are placed and removed; now and then a node changes."""

    @initialize(
        keys=st.permutations([HOSTNAME_LABEL, ZONE, RACK]).flatmap(
            lambda keys: st.sampled_from([keys[:1], keys[:2], keys])
        ),
        require_all_keys=st.booleans(),
    )
    def begin(self, keys: list[str], require_all_keys: bool) -> None:
        self.cluster = SpreadCluster(capacity=len(NODES))
        for number, name in enumerate(NODES):
            self.cluster.set_node(node(name, "abc"[number % 3]).label(RACK, f"r{number % 2}"))
        constraints = constraints_on(tuple(keys), self.cluster, require_all_keys=require_all_keys)
        self.constraints = constraints
        self.classes = ScoreClasses(constraints)
        self.by_row = SpreadRowScores(constraints)
        self.signature = uncrowded(self.cluster.table)

    @rule(name=st.sampled_from(PODS), on=st.sampled_from(NODES), app=st.sampled_from(["web", "web", "db"]))
    def place(self, name: str, on: str, app: str) -> None:
        self.cluster.set_pod(web(name).label("app", app).node(on))
        self.compare(None)

    @rule(names=st.sets(st.sampled_from(PODS)))
    def remove(self, names: set[str]) -> None:
        for name in names:
            self.cluster.remove_pod(name)
        self.compare(None)

    @rule(changed=some_nodes())
    def change_node(self, changed: NodeBuilder) -> None:
        self.cluster.set_node(changed)
        self.compare(None)

    @rule(rejected=st.sets(st.sampled_from(NODES)))
    def reject_some(self, rejected: set[str]) -> None:
        mask = self.cluster.table.alive.copy()
        for row in self.cluster.live_rows():
            mask[row] = self.cluster.table.names[row] in rejected
        self.compare(mask)

    def compare(self, rejected: BoolColumn | None) -> None:
        feasible = self.signature.feasible(rejected)
        inhabited = self.classes.inhabited(feasible)
        assert inhabited is not None
        assert inhabited.row_count == self.scored(feasible)
        by_row = scores(self.by_row.normalized(feasible), feasible)
        assert scores(self.classes.column(inhabited), feasible) == by_row
        assert scores(self.classes.column(inhabited, 7), feasible) == [7 * score for score in by_row]

    def scored(self, feasible: Feasible) -> int:
        scored = feasible.mask
        if self.constraints.require_all_keys:
            scored = scored & self.constraints.rows_with_all_keys()
        return int(scored.sum())


def scores(column: AnyIntColumn | None, feasible: Feasible) -> list[int]:
    return [0] * feasible.count if column is None else column[feasible.mask].tolist()


TestPlacements = Placements.TestCase
TestPlacements.settings = search(50, stateful_step_count=40)


@pytest.mark.parametrize(
    ("odd", "keys"),
    [
        pytest.param(make_node("odd").label(ZONE, "zone1"), (HOSTNAME_LABEL, ZONE), id="a node without host name"),
        pytest.param(
            make_node("odd").label(HOSTNAME_LABEL, "odd").label(ZONE, ""), (HOSTNAME_LABEL, ZONE), id="an empty zone"
        ),
        pytest.param(node("odd", "zone1"), (HOSTNAME_LABEL, HOSTNAME_LABEL), id="two constraints on host names"),
    ],
)
def test_there_are_no_classes_for_rows_that_differ_in_more_than_a_class_says(
    odd: NodeBuilder, keys: tuple[str, ...]
) -> None:
    cluster = SpreadCluster()
    for each in (NODE_A, NODE_X, odd):
        cluster.set_node(each)
    classes = ScoreClasses(constraints_on(keys, cluster))
    assert classes.inhabited(uncrowded(cluster.table).feasible()) is None


def test_there_are_no_classes_for_a_topology_with_many_domains() -> None:
    cluster = SpreadCluster(capacity=200)
    for number in range(150):
        cluster.set_node(node(f"node{number}", f"zone{number}"))
    classes = ScoreClasses(constraints_on((ZONE,), cluster))
    assert classes.inhabited(uncrowded(cluster.table).feasible()) is None
