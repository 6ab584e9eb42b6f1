# SPDX-License-Identifier: Apache-2.0
"""The decision of a group's preemption: the whole cluster is one domain, and the group is simulated once."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from tests.preemption.group_clusters import TOO_FEW, GroupCluster, node, running

from steersman.config import FeatureGates
from steersman.framework import Code, PodGroupInfo
from steersman.scheduler.cycle.what_if import ProfileWhatIf
from steersman.scheduler.preemption.group_evaluator import DOMAIN_ERROR, REASON_NO_VICTIMS
from steersman.scheduler.preemption.victims import NODE_NOT_FOUND
from steersman.testing import (
    NodeBuilder,
    PodBuilder,
    make_composite_pod_group,
    make_disruption_budget,
    make_pod,
    make_pod_group,
)

GROUP = make_pod_group("new").gang(2).priority(100).obj()
TWO_NODES = (node("n1"), node("n2"))

both_engines = pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])


def members(count: int = 2, cpu: str = "4") -> list[PodBuilder]:
    return [make_pod(f"new-{index}").req(cpu=cpu).priority(0) for index in range(count)]


def message(cluster: GroupCluster, group: PodGroupInfo) -> tuple[Code, str]:
    status = cluster.preempt_for(group)[1]
    return status.code, status.message


@both_engines
def test_victims_are_evicted_from_all_nodes_that_the_members_need(scalar: bool) -> None:
    pods = [running("a", "n1", "4"), running("b", "n2", "1"), running("c", "n3", "4")]
    cluster = GroupCluster([node("n1"), node("n2"), node("n3", "2")], pods, [GROUP], scalar=scalar)
    report = cluster.report_for(cluster.group("new", members()))
    assert sorted(pod.name for pod in report.victims) == ["a", "b"]
    assert report.nominated == {"default/new-0": "n1", "default/new-1": "n2"} or report.nominated == {
        "default/new-0": "n2",
        "default/new-1": "n1",
    }
    assert cluster.simulations == report.simulations == 1


@both_engines
def test_nothing_is_evicted_for_a_group_that_would_not_fit(scalar: bool) -> None:
    cluster = GroupCluster(TWO_NODES, [running("a", "n1", "4")], [GROUP], scalar=scalar)
    group = cluster.group("new", members(3))
    assert message(cluster, group) == (Code.UNSCHEDULABLE, f"pod group preemption: {TOO_FEW}")
    assert len(cluster.plugin.executor) == 0


@both_engines
def test_the_cluster_is_the_same_afterwards(scalar: bool) -> None:
    pods = [running("a", "n1", "2").host_port(80), running("b", "n1", "1"), running("c", "n2", "1", priority=200)]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP], scalar=scalar)
    table = cluster.setting.cache.nodes
    before = [(info.name, [pod.name for pod in info.pods], set(info.used_ports)) for info in map(table.info, range(2))]
    cluster.preempt_for(cluster.group("new", members()), needed=1)
    after = [(info.name, [pod.name for pod in info.pods], set(info.used_ports)) for info in map(table.info, range(2))]
    assert after == before
    cluster.setting.cache.validate_state()
    cluster.setting.cycle.validate_state()


def test_without_pods_of_lower_priority_preemption_cannot_help() -> None:
    cluster = GroupCluster(TWO_NODES, [running("a", "n1", "4", priority=100)], [GROUP])
    group = cluster.group("new", members())
    assert message(cluster, group) == (
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        f"pod group preemption: {REASON_NO_VICTIMS}",
    )
    assert cluster.simulations == 0


def test_the_priority_of_the_group_counts_and_not_that_of_its_members() -> None:
    group = make_pod_group("new").priority(1).obj()
    pods = [running("a", "n1", "4", priority=5), running("b", "n2", "4", priority=0)]
    cluster = GroupCluster(TWO_NODES, pods, [group])
    assert cluster.victims_for(cluster.group("new", [make_pod("new-0").req(cpu="4").priority(1000)])) == ["b"]


def test_the_most_important_victims_are_reprieved() -> None:
    pods = [running(f"p{priority}", "n1", "1", priority=priority) for priority in (3, 1, 2, 0)]
    cluster = GroupCluster([node("n1")], pods, [GROUP])
    assert cluster.victims_for(cluster.group("new", members(2, "1"))) == ["p0", "p1"]


def test_the_victims_are_listed_by_importance() -> None:
    pods = [running("low", "n1", "4", priority=1), running("high", "n2", "4", priority=9)]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP])
    assert [pod.name for pod in cluster.report_for(cluster.group("new", members())).victims] == ["high", "low"]


def test_a_protected_victim_is_reprieved_before_a_more_important_one() -> None:
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    pods = [running("protected", "n1", "2").label("app", "web"), running("important", "n1", "2", priority=9)]
    cluster = GroupCluster([node("n1")], pods, [GROUP, budget])
    report = cluster.report_for(cluster.group("new", members(1, "2")))
    assert [pod.name for pod in report.victims] == ["important"]
    assert report.pdb_violations == 0


def test_pods_that_violate_budgets_are_counted() -> None:
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(1).obj()
    pods = [running(name, "n1", "1").label("app", "web") for name in "abcd"]
    cluster = GroupCluster([node("n1")], pods, [GROUP, budget])
    assert cluster.report_for(cluster.group("new", members(1))).pdb_violations == 3


def test_a_group_that_is_disrupted_as_one_is_reprieved_or_evicted_as_one() -> None:
    gang = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running("a", "n1", "4", group="gang"), running("b", "n2", "1", group="gang"), running("c", "n2", "1")]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP, gang])
    report = cluster.report_for(cluster.group("new", members(1)))
    # The single pod stays unless the simulation placed the member on its node.
    placed = report.nominated["default/new-0"]
    assert sorted(pod.name for pod in report.victims) == (["a", "b"] if placed == "n1" else ["a", "b", "c"])
    assert report.groups_disrupted == 1


def test_single_members_of_groups_count_as_disrupted_groups() -> None:
    pods = [running("a", "n1", "4", group="gang"), running("b", "n2", "4", group="gang"), running("c", "n3", "4")]
    cluster = GroupCluster([*TWO_NODES, node("n3")], pods, [GROUP, make_pod_group("gang").obj()])
    assert cluster.report_for(cluster.group("new", members(3))).groups_disrupted == 2


def test_running_members_of_the_group_are_no_victims() -> None:
    pods = [running("new-old", "n1", "4", group="new"), running("a", "n2", "4")]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP])
    assert cluster.victims_for(cluster.group("new", members(1))) == ["a"]


def test_every_member_is_checked_again_with_the_members_before_it() -> None:
    """A victim that fits beside the first member alone does not fit beside both."""
    cluster = GroupCluster([node("n1")], [running("a", "n1", "1")], [GROUP])
    assert cluster.victims_for(cluster.group("new", members(2, "2"))) == ["a"]


def three_zoned_nodes(cpu: str = "4") -> list[NodeBuilder]:
    """The first two are in one zone; `cpu` is the size of the last two."""
    return [
        node("n1").label("zone", "a").label("for", "members"),
        node("n2", cpu).label("zone", "a"),
        node("n3", cpu).label("zone", "b"),
    ]


@both_engines
def test_a_victim_on_another_node_goes_if_a_member_must_not_be_near_it(scalar: bool) -> None:
    pods = [running(name, name, "4").label("app", name) for name in ("n1", "n2", "n3")]
    cluster = GroupCluster(three_zoned_nodes(), pods, [GROUP], scalar=scalar)
    shy = make_pod("new-0").req(cpu="4").anti_affinity("zone", {"app": "n2"}).node_selector("for", "members")
    assert cluster.victims_for(cluster.group("new", [shy])) == ["n1", "n2"]


@both_engines
@pytest.mark.parametrize(("first", "victims"), [("n2", ["n1", "n2"]), ("n3", ["n1"])])
def test_victims_on_other_nodes_count_for_a_spread_member(scalar: bool, first: str, victims: list[str]) -> None:
    """The victim in the zone of the member may stay if the one in the other zone has returned before."""
    names = ("n1", "n2", "n3")
    pods = [running(name, name, "2", priority=5 * (name == first)).label("app", "web") for name in names]
    cluster = GroupCluster(three_zoned_nodes("2"), pods, [GROUP], scalar=scalar)
    web = make_pod("new-0").req(cpu="4").label("app", "web").spread("zone", selector={"app": "web"})
    assert cluster.victims_for(cluster.group("new", [web])) == victims


@both_engines
def test_a_member_is_checked_with_the_affinity_of_the_members_before_it(scalar: bool) -> None:
    """The second member must be near the first one: no victim that keeps either from its node can stay."""
    pods = [running("a", "n1", "2"), running("b", "n2", "2", priority=9), running("c", "n3", "2", priority=9)]
    cluster = GroupCluster(three_zoned_nodes(), pods, [GROUP], scalar=scalar)
    leader = make_pod("new-0").req(cpu="4").label("app", "leader").node_selector("for", "members")
    follower = make_pod("new-1").req(cpu="4").pod_affinity("zone", {"app": "leader"})
    assert cluster.victims_for(cluster.group("new", [leader, follower])) == ["a", "b"]


def test_victims_on_nodes_without_members_cost_no_check() -> None:
    """With filters that read nothing but the node, a victim affects the members on its nodes only."""
    pods = [running("a", "n1", "4"), *(running(f"far-{index}", "n2", "0.01") for index in range(50))]
    cluster = GroupCluster([node("n1"), node("n2", "2")], pods, [GROUP])
    group = cluster.group("new", members(1))
    with patch.object(ProfileWhatIf, "filter", autospec=True, side_effect=ProfileWhatIf.filter) as checks:
        assert cluster.victims_for(group) == ["a"]
    assert checks.call_count == 1


def test_a_hierarchy_preempts_with_the_priority_of_its_root() -> None:
    root = make_composite_pod_group("tree").priority(5).obj()
    pods = [running("a", "n1", "4", priority=4), running("b", "n2", "4", priority=6)]
    cluster = GroupCluster(TWO_NODES, pods, [root])
    assert cluster.victims_for(cluster.group("tree", members(1))) == ["a"]


def test_a_member_with_the_policy_never_keeps_the_group_from_preempting() -> None:
    cluster = GroupCluster(TWO_NODES, [running("a", "n1", "4")], [GROUP])
    first, second = members()
    group = cluster.group("new", [first, second.preemption_policy("Never")])
    reason = "pod group preemption: not eligible due to preemptionPolicy=Never."
    assert message(cluster, group) == (Code.UNSCHEDULABLE, reason)


@pytest.mark.parametrize(("policy", "victims"), [("Never", []), ("PreemptLowerPriority", ["a"]), (None, ["a"])])
def test_with_its_gate_the_policy_of_the_group_counts(policy: str | None, victims: list[str]) -> None:
    gates = FeatureGates({"GenericWorkload": True, "PodGroupPreemptionPolicy": True}, "1.37")
    group = make_pod_group("new").priority(100).preemption_policy(policy).obj()
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4")], [group], gates=gates)
    (member,) = members(1)
    found, _ = cluster.preempt_for(cluster.group("new", [member.preemption_policy("Never")]))
    assert (cluster.simulations > 0) == bool(victims)
    assert (found is not None) == bool(victims)


def leaving(pod: PodBuilder) -> PodBuilder:
    return pod.terminating().condition("DisruptionTarget", "True", reason="PreemptionByScheduler")


def test_the_group_waits_for_terminating_victims_on_its_nominated_nodes() -> None:
    cluster = GroupCluster(TWO_NODES, [leaving(running("a", "n1", "4"))], [GROUP])
    first, second = members()
    report = cluster.report_for(group := cluster.group("new", [first.nominated("n1"), second]))
    assert report.is_ongoing
    assert report.nominated == {"default/new-0": "n1", "default/new-1": ""}
    assert message(cluster, group) == (Code.SUCCESS, "pod group preemption: ongoing preemption on nominated nodes")
    assert (cluster.simulations, len(cluster.plugin.executor)) == (0, 0)


def test_the_group_does_not_wait_for_terminating_pods_of_higher_groups() -> None:
    gang = make_pod_group("gang").priority(100).obj()
    pods = [leaving(running("a", "n1", "4", group="gang")), running("b", "n2", "4")]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP, gang])
    (member,) = members(1)
    assert cluster.victims_for(cluster.group("new", [member.nominated("n1")])) == ["b"]


def test_a_member_on_a_vanished_node_is_an_error() -> None:
    gang = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running("a", "n1", "4", group="gang"), running("b", "gone", "4", group="gang")]
    cluster = GroupCluster(TWO_NODES, pods, [GROUP, gang])
    code, text = message(cluster, cluster.group("new", members()))
    assert code is Code.ERROR
    assert text == f"pod group preemption: {DOMAIN_ERROR.format(NODE_NOT_FOUND.format('gone'))}"


def test_success_names_the_number_of_victims() -> None:
    cluster = GroupCluster(TWO_NODES, [running("a", "n1", "4"), running("b", "n2", "4")], [GROUP])
    group = cluster.group("new", members())
    text = "pod group preemption: found a placement for podgroup, preempting 2 victims"
    assert message(cluster, group) == (Code.SUCCESS, text)


def test_a_member_that_was_not_placed_is_not_nominated() -> None:
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4")], [GROUP])
    report = cluster.report_for(cluster.group("new", members(3)), needed=1)
    assert report.nominated == {"default/new-0": "n1"}


def test_the_report_is_plain_data() -> None:
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4"), running("keep", "n1", "0")], [GROUP])
    assert cluster.report_for(cluster.group("new", members(1))).to_dict() == {
        "victims": ["default/a"],
        "pdbViolations": 0,
        "groupsDisrupted": 0,
        "nominated": {"default/new-0": "n1"},
        "potentialVictims": 2,
        "simulations": 1,
    }
