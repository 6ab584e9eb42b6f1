# SPDX-License-Identifier: Apache-2.0
"""A filter that breaks in the middle of a dry run."""

from __future__ import annotations

from collections.abc import Callable

from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, CycleAborted, Status, error, unschedulable
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.scheduler.preemption.candidates import Candidate
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.scheduler.preemption.dry_run import DryRunQuestion, FullSearch, search_node_by_node
from steersman.testing import make_node, make_pod

NOW = 2_000_000_000.0
PREEMPTOR = make_pod("preemptor").priority(100).info()


class WhatIfItBreaks:
    """The pod fits where nobody is; the filter breaks where `breaks` says so."""

    def __init__(self, breaks: Callable[[NodeInfo], bool]) -> None:
        self._breaks = breaks

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        if self._breaks(node):
            raise CycleAborted(error(f"cannot read {node.name}"))
        return unschedulable("somebody is here") if node.pod_count else None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        """Nothing to be told."""

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        """Nothing to be told."""


def a_node(name: str) -> NodeInfo:
    return make_node(name).info(make_pod(f"on-{name}").started("2030-01-01T00:00:00Z"))


def question(what_if: WhatIfItBreaks, statuses: NodeStatuses | None = None) -> DryRunQuestion:
    statuses = statuses or NodeStatuses()
    return DryRunQuestion(PREEMPTOR, statuses, CycleState(), what_if, Budgets(()), FullSearch(), True, NOW)


def test_a_node_whose_filter_breaks_is_no_candidate() -> None:
    what_if = WhatIfItBreaks(lambda node: not node.pod_count)
    outcome = question(what_if).about(a_node("n1"))
    assert outcome == error("cannot read n1")


def test_a_filter_that_breaks_with_a_pod_put_back_makes_it_a_victim() -> None:
    what_if = WhatIfItBreaks(lambda node: node.pod_count > 0)
    outcome = question(what_if).about(a_node("n1"))
    assert isinstance(outcome, Candidate)
    assert [victim.name for victim in outcome.victims] == ["on-n1"]


def test_a_node_that_needs_no_victims_is_an_internal_error() -> None:
    class Content(WhatIfItBreaks):
        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
            return None

    outcome = question(Content(lambda node: False)).about(a_node("n1"))
    assert outcome == error('expected at least one victim pod on node "n1"')


def test_other_nodes_are_candidates_all_the_same() -> None:
    nodes = [a_node("n1"), a_node("n2")]
    statuses = NodeStatuses({unschedulable("somebody is here"): ["n1", "n2"]})
    what_if = WhatIfItBreaks(lambda node: node.name == "n1" and not node.pod_count)
    runs = search_node_by_node(question(what_if, statuses), nodes)
    assert [candidate.node for candidate in runs.candidates] == ["n2"]
    assert [status.code for status in runs.statuses.groups] == [Code.ERROR]
