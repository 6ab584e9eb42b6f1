# SPDX-License-Identifier: Apache-2.0
"""Running members of groups as victims of a single pod: units of eviction, their priority and their importance."""

from __future__ import annotations

import pytest
from tests.preemption.group_clusters import WITHOUT_HIERARCHIES, GroupCluster, node, running

from steersman.scheduler.preemption.default_preemption import MESSAGE
from steersman.scheduler.preemption.victims import NODE_NOT_FOUND
from steersman.testing import (
    PodBuilder,
    make_composite_pod_group,
    make_disruption_budget,
    make_pod,
    make_pod_group,
)


def preemptor(cpu: str, priority: int = 100) -> PodBuilder:
    return make_pod("preemptor").req(cpu=cpu).priority(priority)


def victims(cluster: GroupCluster, pod: PodBuilder) -> tuple[str, list[str]]:
    name, found = cluster.victims(pod)
    return name, sorted(found)


def test_a_group_that_is_disrupted_as_one_goes_whole_from_all_nodes() -> None:
    group = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running("a", "n1", "4", group="gang"), running("b", "n2", "4", group="gang")]
    cluster = GroupCluster([node("n1"), node("n2")], pods, [group])
    assert victims(cluster, preemptor("2")) == ("n1", ["a", "b"])


def test_members_of_other_groups_go_one_by_one() -> None:
    pods = [running("a", "n1", "2", group="gang"), running("b", "n1", "2", group="gang", second=1)]
    cluster = GroupCluster([node("n1")], pods, [make_pod_group("gang").obj()])
    assert victims(cluster, preemptor("2")) == ("n1", ["b"])


def test_a_node_with_a_small_unit_is_preferred() -> None:
    group = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running("a", "n1", "4", group="gang"), running("b", "n2", "4", group="gang"), running("c", "n3", "4")]
    cluster = GroupCluster([node("n1"), node("n2"), node("n3")], pods, [group])
    assert victims(cluster, preemptor("2")) == ("n3", ["c"])


def test_the_priority_of_a_member_is_that_of_its_group() -> None:
    group = make_pod_group("gang").priority(100).obj()
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4", priority=0, group="gang")], [group])
    assert victims(cluster, preemptor("2")) == ("", [])
    low = make_pod_group("gang").priority(1).obj()
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4", priority=1000, group="gang")], [low])
    assert victims(cluster, preemptor("2")) == ("n1", ["a"])


def test_a_member_of_a_missing_group_has_its_own_priority_and_goes_alone() -> None:
    pods = [running("a", "n1", "4", priority=5, group="gone"), running("b", "n2", "4", priority=6, group="gone")]
    cluster = GroupCluster([node("n1"), node("n2")], pods)
    assert victims(cluster, preemptor("2")) == ("n1", ["a"])


def test_the_priority_and_the_unit_come_from_the_highest_group() -> None:
    root = make_composite_pod_group("root").priority(7).disrupted_as_one().obj()
    leaves = [make_pod_group(name).priority(1000).parent("root").obj() for name in ("left", "right")]
    pods = [running("a", "n1", "4", group="left"), running("b", "n2", "4", group="right")]
    cluster = GroupCluster([node("n1"), node("n2")], pods, [root, *leaves])
    assert victims(cluster, preemptor("2", priority=8)) == ("n1", ["a", "b"])
    assert victims(GroupCluster([node("n1"), node("n2")], pods, [root, *leaves]), preemptor("2", 7)) == ("", [])


def test_parents_do_not_count_without_the_gate_of_hierarchies() -> None:
    root = make_composite_pod_group("root").priority(1000).disrupted_as_one().obj()
    leaf = make_pod_group("leaf").priority(7).parent("root").obj()
    pods = [running("a", "n1", "4", group="leaf"), running("b", "n2", "4", group="leaf", second=1)]
    cluster = GroupCluster([node("n1"), node("n2")], pods, [root, leaf], gates=WITHOUT_HIERARCHIES)
    assert victims(cluster, preemptor("2")) == ("n2", ["b"])


def test_a_missing_parent_ends_the_hierarchy() -> None:
    leaf = make_pod_group("leaf").priority(7).parent("gone").obj()
    cluster = GroupCluster([node("n1")], [running("a", "n1", "4", group="leaf")], [leaf])
    assert victims(cluster, preemptor("2", priority=8)) == ("n1", ["a"])


@pytest.mark.parametrize("scalar", [True, False], ids=["plain", "columns"])
def test_among_equals_members_stay_before_other_pods(scalar: bool) -> None:
    pods = [running("member", "n1", "2", group="gang", second=30), running("single", "n1", "2", second=10)]
    cluster = GroupCluster([node("n1")], pods, [make_pod_group("gang").obj()], scalar=scalar)
    assert victims(cluster, preemptor("2")) == ("n1", ["single"])


def test_among_equal_groups_the_larger_one_stays() -> None:
    groups = [make_pod_group(name).disrupted_as_one().obj() for name in ("large", "small")]
    pods = [
        running("l1", "n1", "2", group="large", second=30),
        running("l2", "n2", "4", group="large", second=30),
        running("s1", "n1", "2", group="small", second=10),
    ]
    # On the other node the large group would have to go.
    cluster = GroupCluster([node("n1"), node("n2", "5")], pods, groups)
    assert victims(cluster, preemptor("2")) == ("n1", ["s1"])


def test_a_hierarchy_stays_before_a_larger_group() -> None:
    root = make_composite_pod_group("root").disrupted_as_one().obj()
    leaf = make_pod_group("leaf").parent("root").obj()
    gang = make_pod_group("gang").disrupted_as_one().obj()
    pods = [
        running("h1", "n1", "2", group="leaf", second=30),
        running("g1", "n1", "1", group="gang", second=10),
        running("g2", "n1", "1", group="gang", second=10),
    ]
    cluster = GroupCluster([node("n1")], pods, [root, leaf, gang])
    assert victims(cluster, preemptor("2")) == ("n1", ["g1", "g2"])


def test_every_member_that_violates_a_budget_counts() -> None:
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(1).obj()
    group = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running(name, "n1", "1", group="gang").label("app", "web") for name in "abcd"]
    report = GroupCluster([node("n1")], pods, [budget, group]).report(preemptor("2"))
    assert report.choice is not None
    assert (len(report.choice.candidate.victims), report.choice.candidate.pdb_violations) == (4, 3)


def test_a_unit_with_a_protected_member_is_spared_before_a_more_important_one() -> None:
    budget = make_disruption_budget("web").selector({"app": "web"}).allows(0).obj()
    group = make_pod_group("gang").disrupted_as_one().obj()
    pods = [
        running("a", "n1", "1", group="gang"),
        running("b", "n1", "1", group="gang").label("app", "web"),
        running("important", "n1", "2", priority=50),
    ]
    assert victims(GroupCluster([node("n1")], pods, [budget, group]), preemptor("2")) == ("n1", ["important"])


def test_the_preemptor_waits_for_a_terminating_member_of_a_lower_group() -> None:
    group = make_pod_group("gang").priority(1).obj()
    leaving = running("a", "n1", "4", priority=1000, group="gang").terminating()
    leaving = leaving.condition("DisruptionTarget", "True", reason="PreemptionByScheduler")
    cluster = GroupCluster([node("n1")], [leaving], [group])
    outcome = cluster.schedule(preemptor("2").nominated("n1")).post_filter
    assert outcome is not None
    assert outcome.status.message == MESSAGE.format("not eligible due to a terminating pod on the nominated node.")


def test_a_member_on_a_vanished_node_is_an_error() -> None:
    group = make_pod_group("gang").disrupted_as_one().obj()
    pods = [running("a", "n1", "4", group="gang"), running("b", "gone", "4", group="gang")]
    outcome = GroupCluster([node("n1")], pods, [group]).schedule(preemptor("2")).post_filter
    assert outcome is not None
    assert outcome.status.message == MESSAGE.format(NODE_NOT_FOUND.format("gone"))
