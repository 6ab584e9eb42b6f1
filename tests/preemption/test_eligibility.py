# SPDX-License-Identifier: Apache-2.0
"""Which pods may preempt."""

from __future__ import annotations

from tests.plugins.handles import FakeNodes

from steersman.framework.node_info import NodeInfo
from steersman.framework.status import Status, unresolvable, unschedulable
from steersman.scheduler.preemption.evaluator import REASON_NEVER, REASON_TERMINATING, why_not_eligible
from steersman.testing import PodBuilder, make_node, make_pod

RESOLVABLE = unschedulable("Insufficient cpu")
PREEMPTOR = make_pod("preemptor").priority(100)


def why_not(pod: PodBuilder, *nodes: NodeInfo, nominated_node_status: Status | None = RESOLVABLE) -> str:
    return why_not_eligible(pod.obj(), nominated_node_status, FakeNodes(nodes))


def a_victim(name: str = "victim") -> PodBuilder:
    return make_pod(name).terminating().condition("DisruptionTarget", "True", reason="PreemptionByScheduler")


def test_a_pod_that_was_nominated_nowhere_may() -> None:
    assert why_not(PREEMPTOR) == ""


def test_a_pod_whose_policy_says_never_may_not() -> None:
    assert why_not(PREEMPTOR.preemption_policy("Never")) == REASON_NEVER


def test_the_policy_to_preempt_lower_priority_is_the_usual_one() -> None:
    assert why_not(PREEMPTOR.preemption_policy("PreemptLowerPriority")) == ""


def test_a_pod_waits_for_its_victims_to_go() -> None:
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n1").info(a_victim())) == REASON_TERMINATING


def test_victims_on_another_node_do_not_matter() -> None:
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n1").info(), make_node("n2").info(a_victim())) == ""


def test_a_nominated_node_that_cannot_help_any_more_is_not_waited_for() -> None:
    node = make_node("n1").info(a_victim())
    assert why_not(PREEMPTOR.nominated("n1"), node, nominated_node_status=unresolvable("cordoned")) == ""


def test_a_nominated_node_that_was_not_examined_is_not_waited_for() -> None:
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n1").info(a_victim()), nominated_node_status=None) == ""


def test_a_nominated_node_that_is_gone_is_not_waited_for() -> None:
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n2").info(a_victim())) == ""


def test_pods_that_terminate_for_another_reason_are_not_waited_for() -> None:
    evicted = make_pod("evicted").terminating().condition("DisruptionTarget", "True", reason="EvictionByEvictionAPI")
    node = make_node("n1").info(make_pod("deleted").terminating(), evicted)
    assert why_not(PREEMPTOR.nominated("n1"), node) == ""


def test_a_victim_whose_deletion_has_not_begun_is_not_waited_for() -> None:
    marked = make_pod("marked").condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n1").info(marked)) == ""


def test_terminating_pods_that_are_as_important_are_not_waited_for() -> None:
    assert why_not(PREEMPTOR.nominated("n1"), make_node("n1").info(a_victim().priority(100))) == ""
