# SPDX-License-Identifier: Apache-2.0
"""Who has to go from a node, and who is spared. Both dry runs are asked: the plain one and that over columns."""

from __future__ import annotations

import pytest
from tests.preemption.clusters import PreemptionCluster

from steersman import api
from steersman.testing import PodBuilder, make_disruption_budget, make_node, make_pod

NODE = make_node("n1").capacity(cpu="4", memory="8Gi", pods=10)

both_ways = pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])


def running(name: str, cpu: str, priority: int = 0, second: int = 0) -> PodBuilder:
    pod = make_pod(name).req(cpu=cpu).priority(priority).node("n1")
    return pod.started(f"2030-01-01T00:00:{second:02}Z").phase("Running")


def preemptor(cpu: str, priority: int = 100) -> PodBuilder:
    return make_pod("preemptor").req(cpu=cpu).priority(priority)


def victims(scalar: bool, pods: list[PodBuilder], pod: PodBuilder, *budgets: api.PodDisruptionBudget) -> list[str]:
    return PreemptionCluster([NODE], pods, budgets, scalar=scalar).victims(pod)[1]


@both_ways
def test_the_least_important_pod_goes_if_that_is_enough(scalar: bool) -> None:
    pods = [running("low", "2", 1), running("high", "2", 5)]
    assert victims(scalar, pods, preemptor("2")) == ["low"]


@both_ways
def test_no_more_pods_go_than_necessary(scalar: bool) -> None:
    pods = [running(f"pod-{index}", "1", 0, index) for index in range(4)]
    assert victims(scalar, pods, preemptor("2")) == ["pod-2", "pod-3"]


@both_ways
def test_among_equals_the_pod_that_has_run_longest_stays(scalar: bool) -> None:
    pods = [running("young", "2", 0, 30), running("old", "2", 0, 10)]
    assert victims(scalar, pods, preemptor("2")) == ["young"]


@both_ways
def test_a_pod_that_has_not_started_is_the_youngest(scalar: bool) -> None:
    unstarted = make_pod("unstarted").req(cpu="2").node("n1")
    assert victims(scalar, [unstarted, running("old", "2")], preemptor("2")) == ["unstarted"]


@both_ways
def test_among_pods_that_have_not_started_the_last_to_come_stays(scalar: bool) -> None:
    pods = [make_pod(f"pod-{index}").req(cpu="1").node("n1") for index in range(4)]
    assert victims(scalar, pods, preemptor("2")) == ["pod-1", "pod-0"]


@both_ways
def test_pods_that_started_together_stay_in_the_order_in_which_they_came(scalar: bool) -> None:
    waiting = [make_pod(f"waiting-{index}").req(cpu="1").node("n1") for index in range(2)]
    pods = [waiting[0], running("first", "1"), waiting[1], running("second", "1")]
    assert victims(scalar, pods, preemptor("4")) == ["first", "second", "waiting-1", "waiting-0"]


@both_ways
def test_a_pod_that_seems_to_start_in_the_future_is_younger_than_one_that_has_not_started(scalar: bool) -> None:
    unstarted = make_pod("unstarted").req(cpu="2").node("n1")
    future = make_pod("future").req(cpu="2").node("n1").started("2031-01-01T00:00:00Z")
    assert victims(scalar, [unstarted, future], preemptor("2")) == ["future"]


@both_ways
def test_a_pod_that_turns_out_to_run_longer_becomes_more_important(scalar: bool) -> None:
    late = make_pod("late").req(cpu="2").node("n1")
    cluster = PreemptionCluster([NODE], [running("early", "2", 0, 30), late], scalar=scalar)
    assert cluster.victims(preemptor("2"))[1] == ["late"]
    cluster.setting.cache.update_pod(late.started("2030-01-01T00:00:10Z").obj())
    assert cluster.victims(preemptor("2"))[1] == ["early"]


@both_ways
def test_a_large_pod_goes_although_a_less_important_small_one_is_spared(scalar: bool) -> None:
    pods = [running("large", "3", 5), running("small", "1", 0)]
    assert victims(scalar, pods, preemptor("3")) == ["large"]


@both_ways
def test_pods_of_the_same_priority_are_never_victims(scalar: bool) -> None:
    assert victims(scalar, [running("equal", "4", 100)], preemptor("1")) == []


@both_ways
def test_negative_priorities_are_lower_than_none(scalar: bool) -> None:
    pods = [running("negative", "2", -5), running("zero", "2", 0)]
    assert victims(scalar, pods, preemptor("2", priority=0)) == ["negative"]


@both_ways
def test_a_terminating_pod_may_be_a_victim_too(scalar: bool) -> None:
    pods = [running("leaving", "2").terminating(), running("staying", "2", 5)]
    assert victims(scalar, pods, preemptor("2")) == ["leaving"]


@both_ways
def test_the_number_of_pods_counts(scalar: bool) -> None:
    node = make_node("n1").capacity(cpu="4", pods=2)
    pods = [running("low", "0", 1), running("high", "0", 5)]
    cluster = PreemptionCluster([node], pods, scalar=scalar)
    assert cluster.victims(preemptor("1")) == ("n1", ["low"])


@both_ways
def test_a_pod_that_a_budget_protects_is_spared_rather_than_a_more_important_one(scalar: bool) -> None:
    protected = running("protected", "2", 0).label("app", "web")
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    assert victims(scalar, [protected, running("important", "2", 5)], preemptor("2"), budget) == ["important"]


@both_ways
def test_a_pod_that_comes_later_is_protected_as_well(scalar: bool) -> None:
    other = running("other", "2", 0)
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    cluster = PreemptionCluster([NODE], [other, running("important", "2", 5)], [budget], scalar=scalar)
    assert cluster.victims(preemptor("2"))[1] == ["other"]
    cluster.setting.delete(other.obj())
    cluster.setting.change(running("protected", "2", 0).label("app", "web").obj())
    assert cluster.victims(preemptor("2"))[1] == ["important"]


@both_ways
def test_a_budget_does_not_save_a_pod_that_has_to_go(scalar: bool) -> None:
    protected = running("protected", "4", 0).label("app", "web")
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    cluster = PreemptionCluster([NODE], [protected], [budget], scalar=scalar)
    choice = cluster.report(preemptor("2")).choice
    assert choice is not None
    assert choice.candidate.pdb_violations == 1


@both_ways
def test_victims_are_listed_by_importance_whether_budgets_protect_them_or_not(scalar: bool) -> None:
    pods = [
        running("protected", "1", 1).label("app", "web"),
        running("low", "1", 0),
        running("high", "2", 5),
    ]
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    assert victims(scalar, pods, preemptor("4"), budget) == ["high", "protected", "low"]


@both_ways
def test_room_for_nominated_pods_that_are_as_important_is_made_as_well(scalar: bool) -> None:
    pods = [running(f"pod-{index}", "1", 0, index) for index in range(4)]
    cluster = PreemptionCluster([NODE], pods, scalar=scalar)
    cluster.nominate(make_pod("rival").req(cpu="1").priority(100), "n1")
    assert cluster.victims(preemptor("1")) == ("n1", ["pod-2", "pod-3"])


@both_ways
def test_nominated_pods_that_are_less_important_are_not_considered(scalar: bool) -> None:
    pods = [running(f"pod-{index}", "1", 0, index) for index in range(4)]
    cluster = PreemptionCluster([NODE], pods, scalar=scalar)
    cluster.nominate(make_pod("humble").req(cpu="1").priority(99), "n1")
    assert cluster.victims(preemptor("1")) == ("n1", ["pod-3"])


@both_ways
def test_an_anti_affinity_is_resolved_by_removing_the_pod_that_has_it(scalar: bool) -> None:
    hermit = running("hermit", "1").anti_affinity("kubernetes.io/hostname", {"app": "web"})
    node = NODE.label("kubernetes.io/hostname", "n1")
    cluster = PreemptionCluster([node], [hermit, running("other", "1")], scalar=scalar)
    assert cluster.victims(preemptor("1").label("app", "web")) == ("n1", ["hermit"])


@both_ways
def test_a_pod_that_the_preemptor_wants_to_be_near_is_not_removed_for_it(scalar: bool) -> None:
    friend = running("friend", "4").label("app", "friend")
    node = NODE.label("kubernetes.io/hostname", "n1")
    cluster = PreemptionCluster([node], [friend], scalar=scalar)
    assert cluster.victims(preemptor("2").pod_affinity("kubernetes.io/hostname", {"app": "friend"})) == ("", [])
