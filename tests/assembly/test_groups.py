# SPDX-License-Identifier: Apache-2.0
"""Groups of pods from the queue to the binding."""

from __future__ import annotations

from tests.assembly.group_host import WITH_TOPOLOGY, WITH_TREES, AnyBuilder, GroupHost, member, small_node

from steersman import api
from steersman.scheduler.cycle import GroupOutcome
from steersman.testing import make_composite_pod_group, make_pod, make_pod_group


def gang_of(size: int, name: str = "gang", cpu: str = "1", minimum: int | None = None) -> list[AnyBuilder]:
    group = make_pod_group(name).gang(size if minimum is None else minimum)
    return [group, *(member(f"{name}-{index}", name, cpu) for index in range(size))]


def test_all_members_of_a_gang_that_fits_are_bound() -> None:
    host = GroupHost(small_node("n1"), small_node("n2"), *gang_of(8))
    host.run()
    assert sorted(host.nodes) == [f"gang-{index}" for index in range(8)]
    condition = host.condition("gang")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", "Scheduled")
    assert host.assumed == 0


def test_no_member_of_a_gang_that_does_not_fit_is_bound_or_stays_assumed() -> None:
    host = GroupHost(small_node("n1"), small_node("n2"), *gang_of(9))
    host.run()
    assert host.nodes == {}
    assert host.assumed == 0
    condition = host.condition("gang")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert "minCount (9) cannot be satisfied: 8 scheduled, 0 remaining" in condition.message
    assert host.message("gang-0").startswith("pod group is unschedulable, minCount (9)")
    assert host.message("gang-8").startswith("0/2 nodes are available: 2 Insufficient cpu")


def test_the_room_of_a_rejected_gang_is_free_for_the_next_group() -> None:
    host = GroupHost(small_node("n1"), *gang_of(5, "large"), *gang_of(4, "small"))
    host.run()
    assert sorted(host.nodes) == [f"small-{index}" for index in range(4)]


def test_members_beyond_the_minimum_are_bound_as_far_as_they_fit() -> None:
    host = GroupHost(small_node("n1"), *gang_of(6, minimum=3))
    host.run()
    assert len(host.nodes) == 4


def test_members_of_a_basic_group_are_bound_as_far_as_they_fit() -> None:
    pods = [member(f"p{index}", "basic", "3") for index in range(3)]
    host = GroupHost(small_node("n1"), small_node("n2"), make_pod_group("basic").basic(), *pods)
    host.run()
    assert len(host.nodes) == 2


def test_a_late_member_joins_a_running_gang() -> None:
    host = GroupHost(small_node("n1"), *gang_of(3))
    host.run()
    host.create(member("late", "gang"))
    host.run()
    assert "late" in host.nodes


def test_the_condition_of_a_scheduled_group_stays_true_when_a_late_member_does_not_fit() -> None:
    host = GroupHost(small_node("n1"), *gang_of(3))
    host.run()
    host.create(member("late", "gang", "4"))
    host.run()
    assert "late" not in host.nodes
    condition = host.condition("gang")
    assert condition is not None
    assert condition.status == "True"


def test_members_with_different_schedulers_or_priorities_make_the_group_fail() -> None:
    urgent = member("gang-2", "gang").priority(5)
    host = GroupHost(small_node("n1"), make_pod_group("gang").gang(2), member("gang-0", "gang"), urgent)
    host.run()
    assert host.nodes == {}
    message = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 0"
    assert host.message("gang-0") == message
    condition = host.condition("gang")
    assert condition is not None
    assert (condition.reason, condition.message) == ("SchedulerError", message)


def test_all_members_are_placed_in_one_domain_of_the_topology() -> None:
    nodes = [small_node(f"{rack}{index}", rack=rack) for rack in "ab" for index in range(2)]
    group = make_pod_group("gang").gang(8).topology("rack")
    host = GroupHost(*nodes, group, *(member(f"gang-{index}", "gang") for index in range(8)), gates=WITH_TOPOLOGY)
    host.run()
    assert len(host.nodes) == 8
    assert {node[0] for node in host.nodes.values()} == {"a"}
    (cycle,) = host.cycles.all
    assert [attempt.placement.name for attempt in cycle.attempts if attempt.placement] == ["a", "b"]
    assert cycle.placement == "a"


def test_a_gang_that_fits_no_domain_is_rejected_with_the_number_of_placements() -> None:
    nodes = [small_node(f"{rack}{index}", rack=rack) for rack in "ab" for index in range(2)]
    group = make_pod_group("gang").gang(9).topology("rack")
    host = GroupHost(*nodes, group, *(member(f"gang-{index}", "gang") for index in range(9)), gates=WITH_TOPOLOGY)
    host.run()
    assert host.nodes == {}
    condition = host.condition("gang")
    assert condition is not None
    assert condition.message.startswith("pod group is unschedulable, 0/2 placements are available, first placement")


def test_a_tree_is_scheduled_only_with_enough_of_its_groups() -> None:
    tree: list[AnyBuilder] = [
        make_composite_pod_group("root").gang(2),
        make_pod_group("left").gang(2).parent("root"),
        make_pod_group("right").gang(3).parent("root"),
        *(member(f"left-{index}", "left") for index in range(2)),
        *(member(f"right-{index}", "right") for index in range(3)),
    ]
    small = GroupHost(small_node("n1"), *tree, gates=WITH_TREES)
    small.run()
    assert small.nodes == {}
    assert small.cycles.all[0].outcome is GroupOutcome.UNSCHEDULABLE
    large = GroupHost(small_node("n1", 5), *tree, gates=WITH_TREES)
    large.run()
    assert len(large.nodes) == 5


def test_a_tree_that_is_deeper_than_kube_scheduler_allows_waits_without_delaying_others() -> None:
    depth = 1000
    tree: list[AnyBuilder] = [make_composite_pod_group("g0"), make_pod_group("leaf").gang(2).parent(f"g{depth - 1}")]
    tree += [make_composite_pod_group(f"g{index}").parent(f"g{index - 1}") for index in range(1, depth)]
    host = GroupHost(small_node("n1"), *tree, member("a", "leaf"), member("b", "leaf"), gates=WITH_TREES)
    host.create(make_pod("other").req(cpu="1"))
    host.run()
    assert sorted(host.nodes) == ["other"]


def test_a_deleted_member_is_left_out_of_the_cycle() -> None:
    host = GroupHost(small_node("n1"), *gang_of(3, minimum=2))
    host.delete(api.Pod, "default/gang-0")
    host.run()
    assert sorted(host.nodes) == ["gang-1", "gang-2"]
