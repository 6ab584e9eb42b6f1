# SPDX-License-Identifier: Apache-2.0
"""Nodes with fewer PreferNoSchedule taints that the pod does not tolerate score higher."""

from __future__ import annotations

from tests.plugins.handles import FakeHandle

from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import NodeScore
from steersman.framework.status import Code, Status
from steersman.scheduler.plugins.taint_toleration import TaintToleration
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

SOFT = "PreferNoSchedule"


def scores(pod: PodBuilder, *nodes: NodeBuilder, comparison_operators: bool = False) -> list[int]:
    plugin = TaintToleration(None, FakeHandle(gates={"TaintTolerationComparisonOperators": comparison_operators}))
    state, info, views = CycleState(), pod.info(), [node.info() for node in nodes]
    assert plugin.pre_score(state, info, views) is None
    raw = [plugin.score(state, info, view) for view in views]
    entries = [NodeScore(view.name, score) for view, score in zip(views, raw, strict=True) if isinstance(score, int)]
    assert plugin.normalize_scores(state, info, entries) is None
    return [entry.score for entry in entries]


def test_a_node_whose_taints_are_tolerated_is_preferred() -> None:
    pod = make_pod().toleration("foo", "bar", effect=SOFT)

    assert scores(pod, make_node().taint("foo", "bar", effect=SOFT), make_node().taint("foo", "blah", effect=SOFT)) == [
        100,
        0,
    ]


def test_tolerated_taints_cost_nothing_however_many_they_are() -> None:
    pod = make_pod().toleration("cpu-type", "arm64", effect=SOFT).toleration("disk-type", "ssd", effect=SOFT)
    one = make_node().taint("cpu-type", "arm64", effect=SOFT)
    two = one.taint("disk-type", "ssd", effect=SOFT)

    assert scores(pod, make_node(), one, two) == [100, 100, 100]


def test_the_more_untolerated_taints_the_lower_the_score() -> None:
    pod = make_pod().toleration("foo", "bar", effect=SOFT)
    one = make_node().taint("cpu-type", "arm64", effect=SOFT)
    two = one.taint("disk-type", "ssd", effect=SOFT)

    assert scores(pod, make_node(), one, two) == [100, 50, 0]


def test_only_soft_taints_and_tolerations_of_them_count() -> None:
    pod = make_pod().toleration("cpu-type", "arm64", effect="NoSchedule").toleration("disk", "ssd", effect="NoSchedule")
    hard = make_node().taint("cpu-type", "arm64")
    soft = make_node().taint("cpu-type", "arm64", effect=SOFT).taint("disk", "ssd", effect=SOFT)

    assert scores(pod, make_node(), hard, soft) == [100, 100, 0]


def test_a_toleration_of_every_effect_covers_soft_taints() -> None:
    assert scores(make_pod().toleration("foo"), make_node().taint("foo", effect=SOFT), make_node()) == [100, 100]


def test_a_pod_without_tolerations_prefers_the_node_without_taints() -> None:
    assert scores(make_pod(), make_node(), make_node().taint("cpu-type", "arm64", effect=SOFT)) == [100, 0]


def test_equally_tainted_nodes_all_get_the_lowest_score() -> None:
    tainted = make_node().taint("foo", effect=SOFT)

    assert scores(make_pod(), tainted, tainted) == [0, 0]


def test_numeric_tolerations_of_soft_taints() -> None:
    pod = make_pod().toleration("sla", "900", operator="Gt", effect=SOFT)
    reliable, flaky = make_node().taint("sla", "950", effect=SOFT), make_node().taint("sla", "800", effect=SOFT)

    assert scores(pod, reliable, flaky, comparison_operators=True) == [100, 0]
    assert scores(pod, reliable, flaky) == [0, 0]


def test_without_pre_score_the_score_reports_a_fault() -> None:
    plugin = TaintToleration(None, FakeHandle())

    answer = plugin.score(CycleState(), make_pod().info(), make_node().info())

    assert answer == Status(Code.ERROR, ('failed to read "PreScoreTaintToleration" from cycleState: not found',))
