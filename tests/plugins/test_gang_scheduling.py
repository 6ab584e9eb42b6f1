# SPDX-License-Identifier: Apache-2.0
"""GangScheduling holds members back until their group can exist, fits, and is reserved."""

from __future__ import annotations

import pytest
from tests.plugins.group_handles import Group, GroupHandle

from steersman.framework import (
    CycleState,
    EventResource,
    PermitResult,
    PlacementProgress,
    QueueingHint,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from steersman.framework.status import Code
from steersman.scheduler.plugins.gang_scheduling import GangScheduling
from steersman.testing import PodBuilder, make_composite_pod_group, make_pod, make_pod_group

COMPOSITES = {"CompositePodGroup": True}
TOO_FEW_MEMBERS = unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")


def member(name: str, group: str = "gang") -> PodBuilder:
    return make_pod(name).in_group(group)


def plugin(handle: GroupHandle) -> GangScheduling:
    return GangScheduling(None, handle)


def permitted(handle: GroupHandle, pod: PodBuilder) -> Status | PermitResult | None:
    return plugin(handle).permit(CycleState(), pod.info(), "n1")


class TestPreEnqueue:
    def test_a_pod_without_a_group_passes(self) -> None:
        assert plugin(GroupHandle()).pre_enqueue(make_pod().info()) is None

    def test_a_member_waits_for_its_group(self) -> None:
        waiting = unresolvable('waiting for pods\'s pod group "gang" to appear in scheduling queue')
        assert plugin(GroupHandle(members=[member("a")])).pre_enqueue(member("a").info()) == waiting

    def test_a_gang_waits_for_its_min_count(self) -> None:
        handle = GroupHandle([make_pod_group("gang").gang(2)], [member("a")])
        assert plugin(handle).pre_enqueue(member("a").info()) == TOO_FEW_MEMBERS
        handle.table.put(member("b").obj())
        assert plugin(handle).pre_enqueue(member("a").info()) is None

    def test_members_that_run_or_are_assumed_count(self) -> None:
        members = [member("a"), member("b"), member("c").node("n1")]
        handle = GroupHandle([make_pod_group("gang").gang(3)], members)
        handle.assume(members[1])
        assert plugin(handle).pre_enqueue(member("a").info()) is None

    def test_members_in_another_namespace_do_not_count(self) -> None:
        others = [make_pod("b").namespace("other").in_group("gang")]
        handle = GroupHandle([make_pod_group("gang").gang(2)], [member("a"), *others])
        assert plugin(handle).pre_enqueue(member("a").info()) == TOO_FEW_MEMBERS

    def test_a_group_that_is_no_gang_waits_for_nothing(self) -> None:
        handle = GroupHandle([make_pod_group("gang").basic()], [member("a")])
        assert plugin(handle).pre_enqueue(member("a").info()) is None

    def test_without_composite_groups_a_parent_does_not_matter(self) -> None:
        handle = GroupHandle([make_pod_group("gang").gang(1).parent("missing")], [member("a")])
        assert plugin(handle).pre_enqueue(member("a").info()) is None


def tree(min_group_count: int) -> list[Group]:
    """Return a root with the gangs `left` and `right` of two members each."""
    return [
        make_composite_pod_group("root").gang(min_group_count),
        make_pod_group("left").gang(2).parent("root"),
        make_pod_group("right").gang(2).parent("root"),
    ]


class TestTrees:
    def test_a_tree_waits_until_enough_children_can_exist(self) -> None:
        handle = GroupHandle(
            tree(2), [member("a", "left"), member("b", "left"), member("c", "right")], gates=COMPOSITES
        )
        waiting = unresolvable('waiting for composite pod group "root" tree to meet quorum')
        assert plugin(handle).pre_enqueue(member("a", "left").info()) == waiting
        handle.table.put(member("d", "right").obj())
        assert plugin(handle).pre_enqueue(member("a", "left").info()) is None

    def test_a_member_of_an_incomplete_child_passes_if_other_children_suffice(self) -> None:
        handle = GroupHandle(
            tree(1), [member("a", "left"), member("b", "left"), member("c", "right")], gates=COMPOSITES
        )
        assert plugin(handle).pre_enqueue(member("c", "right").info()) is None

    def test_a_missing_group_is_named(self) -> None:
        gone = "failed to build hierarchy snapshot: {} object not found in state for {}"
        handle = GroupHandle([make_pod_group("left").gang(1).parent("root")], [member("a", "left")], gates=COMPOSITES)
        assert plugin(handle).pre_enqueue(member("a", "left").info()) == unresolvable(
            gone.format("composite pod group", "compositepodgroup/default/root")
        )
        assert plugin(handle).pre_enqueue(member("b", "gang").info()) == unresolvable(
            gone.format("pod group", "podgroup/default/gang")
        )

    @pytest.mark.parametrize(("depth", "passes"), [(4, True), (5, False)])
    def test_a_tree_that_is_deeper_than_upstream_allows_waits(self, depth: int, passes: bool) -> None:
        composites: list[Group] = [
            make_composite_pod_group(f"c{level}").gang(1).parent(f"c{level + 1}") for level in range(depth - 1)
        ]
        top = make_composite_pod_group(f"c{depth - 1}").gang(1)
        groups = [make_pod_group("gang").gang(1).parent("c0"), *composites, top]
        handle = GroupHandle(groups, [member("a")], gates=COMPOSITES)
        message = (
            "failed to build hierarchy snapshot: composite pod group object not found in state for "
            "compositepodgroup/default/c0"
        )
        assert plugin(handle).pre_enqueue(member("a").info()) == (None if passes else unresolvable(message))

    def test_groups_in_a_cycle_wait(self) -> None:
        groups: list[Group] = [
            make_pod_group("gang").gang(1).parent("c0"),
            make_composite_pod_group("c0").gang(1).parent("c1"),
            make_composite_pod_group("c1").gang(1).parent("c0"),
        ]
        status = plugin(GroupHandle(groups, [member("a")], gates=COMPOSITES)).pre_enqueue(member("a").info())
        assert status == unresolvable(
            "failed to build hierarchy snapshot: cycle detected in composite pod group hierarchy: "
            "compositepodgroup/default/c1"
        )

    def test_a_sibling_subtree_of_any_depth_is_counted(self) -> None:
        deep: list[Group] = [
            make_composite_pod_group(f"d{level}").gang(1).parent(f"d{level - 1}" if level else "root")
            for level in range(2000)
        ]
        groups = [*tree(2), *deep, make_pod_group("leaf").gang(1).parent("d1999")]
        members = [member("a", "left"), member("b", "left"), member("c", "leaf")]
        handle = GroupHandle(groups, members, gates=COMPOSITES)
        assert plugin(handle).pre_enqueue(member("a", "left").info()) is None


class TestPlacementFeasible:
    @pytest.mark.parametrize(
        ("remaining", "scheduled", "verdict"),
        [
            (3, 0, Status(Code.WAIT, ("minCount (3) is not yet satisfied: 0 scheduled, 3 remaining",))),
            (0, 3, None),
            (5, 3, None),
            (1, 1, unschedulable("minCount (3) cannot be satisfied: 1 scheduled, 1 remaining")),
        ],
    )
    def test_a_gang_needs_its_min_count(self, remaining: int, scheduled: int, verdict: Status | None) -> None:
        gang = make_pod_group("gang").gang(3)
        handle = GroupHandle([gang])
        progress = PlacementProgress(remaining, scheduled)
        assert plugin(handle).placement_feasible(CycleState(), handle.info(gang), progress) == verdict

    def test_a_group_that_is_no_gang_needs_one_member(self) -> None:
        group = make_pod_group("group").basic()
        handle = GroupHandle([group])
        feasible = plugin(handle).placement_feasible
        assert feasible(CycleState(), handle.info(group), PlacementProgress(0, 1)) is None
        assert feasible(CycleState(), handle.info(group), PlacementProgress(0, 0)) == unschedulable(
            "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining"
        )

    def test_a_composite_group_needs_its_min_group_count(self) -> None:
        root = make_composite_pod_group("root").gang(2)
        handle = GroupHandle([root], gates=COMPOSITES)
        feasible = plugin(handle).placement_feasible
        assert feasible(CycleState(), handle.info(root), PlacementProgress(1, 1)) == Status(
            Code.WAIT, ("minCount (2) is not yet satisfied: 1 scheduled, 1 remaining",)
        )


class TestPermit:
    def test_a_member_waits_for_the_quorum_and_the_others_are_activated(self) -> None:
        members = [member("a"), member("b"), member("c")]
        handle = GroupHandle([make_pod_group("gang").gang(2)], members)
        handle.assume(members[0])
        waiting = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))
        assert permitted(handle, members[0]) == PermitResult(waiting, 300)
        assert handle.pods.activated == ["b", "c"]

    def test_the_last_member_of_the_quorum_frees_all_that_wait(self) -> None:
        members = [member("a"), member("b")]
        handle = GroupHandle([make_pod_group("gang").gang(2)], members)
        first = handle.wait(members[0], "GangScheduling")
        handle.assume(members[1])
        assert permitted(handle, members[1]) is None
        assert first.verdict == Status(Code.SUCCESS)

    def test_a_group_that_is_no_gang_and_a_pod_without_group_do_not_wait(self) -> None:
        handle = GroupHandle([make_pod_group("gang").basic()], [member("a")])
        assert permitted(handle, member("a")) is None
        assert permitted(handle, make_pod()) is None

    def test_a_group_that_is_gone_is_an_error(self) -> None:
        assert permitted(GroupHandle(), member("a")) == error(
            "failed to get podGroup default/gang: pod group object not found for pod group podgroup/default/gang"
        )

    def test_a_member_of_a_tree_waits_for_the_quorum_of_the_tree(self) -> None:
        members = [
            member(name, group) for name, group in (("a", "left"), ("b", "left"), ("c", "right"), ("d", "right"))
        ]
        handle = GroupHandle(tree(2), members, gates=COMPOSITES)
        waiting = [handle.wait(one, "GangScheduling") for one in members[:2]]
        status = Status(Code.WAIT, ('waiting for composite pod group "root" tree to meet quorum',))
        assert permitted(handle, members[1]) == PermitResult(status, 300)
        assert handle.pods.activated == ["c", "d"]
        for one in members[2:]:
            handle.assume(one)
        assert permitted(handle, members[3]) is None
        assert [one.verdict for one in waiting] == [Status(Code.SUCCESS)] * 2


class TestHints:
    def test_composite_groups_are_registered_with_their_gate(self) -> None:
        without = {row.event.resource for row in plugin(GroupHandle()).events_to_register()}
        all_resources = {row.event.resource for row in plugin(GroupHandle(gates=COMPOSITES)).events_to_register()}
        assert all_resources - without == {EventResource.COMPOSITE_POD_GROUP}

    def test_a_member_of_the_same_group_wakes_a_member(self) -> None:
        after = plugin(GroupHandle([make_pod_group("gang").gang(2)])).after_pod_added
        assert after(member("a").obj(), None, member("b").obj()) is QueueingHint.QUEUE
        assert after(member("a").obj(), None, member("b", "other").obj()) is QueueingHint.SKIP
        assert after(member("a").obj(), None, make_pod("b").obj()) is QueueingHint.SKIP
        assert after(make_pod("a").obj(), None, member("b").obj()) is QueueingHint.SKIP

    def test_a_member_of_the_same_tree_wakes_a_member(self) -> None:
        handle = GroupHandle([*tree(1), make_pod_group("apart").gang(1)], gates=COMPOSITES)
        after = plugin(handle).after_pod_added
        assert after(member("a", "left").obj(), None, member("b", "right").obj()) is QueueingHint.QUEUE
        assert after(member("a", "left").obj(), None, member("b", "apart").obj()) is QueueingHint.SKIP

    def test_a_new_group_wakes_the_members_of_its_tree(self) -> None:
        groups = tree(1)
        gangs = plugin(GroupHandle(groups, gates=COMPOSITES))
        root = make_composite_pod_group("root").gang(1).obj()
        left = make_pod_group("left").gang(2).parent("root").obj()
        assert gangs.after_composite_added(member("a", "left").obj(), None, root) is QueueingHint.QUEUE
        assert gangs.after_group_added(member("a", "right").obj(), None, left) is QueueingHint.QUEUE
        assert gangs.after_group_added(member("a").obj(), None, left) is QueueingHint.SKIP

    def test_a_smaller_min_count_wakes_members_and_other_changes_do_not(self) -> None:
        after = plugin(GroupHandle([make_pod_group("gang").gang(2)])).after_group_updated
        gang_of_two, gang_of_three = (make_pod_group("gang").gang(count).obj() for count in (2, 3))
        basic, waiting = make_pod_group("gang").basic().obj(), member("a").obj()
        assert after(waiting, gang_of_three, gang_of_two) is QueueingHint.QUEUE
        assert after(waiting, gang_of_two, gang_of_three) is QueueingHint.SKIP
        assert after(waiting, gang_of_two, gang_of_two) is QueueingHint.SKIP
        assert after(waiting, gang_of_two, basic) is QueueingHint.SKIP
        assert after(member("a", "other").obj(), gang_of_three, gang_of_two) is QueueingHint.SKIP
