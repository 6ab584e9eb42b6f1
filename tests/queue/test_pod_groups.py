# SPDX-License-Identifier: Apache-2.0
"""Pods of a group wait together and are popped together."""

from __future__ import annotations

from tests.queue.group_queues import REJECTED, GroupQueue, leaf, names
from tests.queue.queues import Gate

from steersman.framework import error
from steersman.scheduler.queue import NEVER
from steersman.testing import make_pod, make_pod_group

GANG = make_pod_group("gang").gang(2)
ONE, TWO, THREE = (make_pod(name).in_group("gang") for name in ("one", "two", "three"))


def queue_with_gang(*gates: Gate) -> GroupQueue:
    test = GroupQueue(gates=gates)
    test.queue.add_pod_group(GANG.obj())
    return test


class TestJoiningAGroup:
    def test_members_are_popped_as_one_group(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj())
        group = test.pop_group()
        assert names(group) == ["one", "two"]
        assert group.root.group == GANG.obj()
        assert test.queue.pop_nowait() is None
        assert [pod.metadata.name for pod in test.queue.in_flight_pods()] == ["one", "two"]

    def test_the_group_has_the_timestamp_of_its_first_member(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), make_pod("single").obj(), TWO.obj())
        assert test.pop_group().attempts == 1
        assert test.pop().key == "default/single"

    def test_members_are_ordered_by_priority_and_arrival(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj(), THREE.priority(5).obj())
        assert names(test.pop_group()) == ["three", "one", "two"]

    def test_a_group_is_ordered_by_its_own_priority(self) -> None:
        test = GroupQueue()
        test.queue.add_pod_group(GANG.priority(10).obj())
        test.add(make_pod("single").priority(5).obj(), ONE.priority(1).obj())
        assert names(test.pop_group()) == ["one"]

    def test_a_pod_waits_for_a_missing_group(self) -> None:
        test = GroupQueue()
        test.add(ONE.obj())
        assert test.place_of("one") == "incompleteGroup"
        assert test.queue.pop_nowait() is None
        test.queue.add_pod_group(GANG.obj())
        assert test.place_of("one") == "active"
        assert names(test.pop_group()) == ["one"]

    def test_pods_without_a_group_are_not_affected(self) -> None:
        test = queue_with_gang()
        test.add(make_pod("single").obj())
        assert test.pop().key == "default/single"

    def test_a_new_member_joins_a_waiting_group(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        test.reject(test.pop_group())
        test.add(TWO.obj())
        assert test.place_of("two") == "backoff"
        test.queue.validate_state()


class TestDuringTheCycle:
    def test_a_new_member_waits_until_the_group_is_requeued(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        group = test.pop_group()
        test.add(TWO.obj())
        assert test.place_of("two") == "pendingGroup"
        test.end(group)
        assert test.place_of("two") == "active"
        assert names(test.pop_group()) == ["two"]

    def test_a_rejected_group_backs_off(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj())
        test.reject(test.pop_group())
        assert test.place_of("one") == "backoff"
        assert test.queue.pop_nowait() is None, "groups are not popped during their backoff"
        test.clock.advance(3)
        test.queue.flush_backoff()
        again = test.pop_group()
        assert (names(again), again.attempts, again.unschedulable_count) == (["one", "two"], 2, 1)

    def test_the_longest_backoff_grows_with_the_size(self) -> None:
        test = queue_with_gang()
        test.add(*(make_pod(f"member-{i}").in_group("gang").obj() for i in range(4)))
        for _ in range(10):
            test.reject(test.pop_group())
            group = test.group_of(leaf("gang"))
            backoff = group.backoff_until - group.timestamp
            test.clock.advance(100)
            test.queue.flush_backoff()
        assert 19_000_000 <= backoff <= 20_000_000, "twice as long as for a single pod"

    def test_members_left_by_a_success_are_retried_at_once_with_the_old_timestamp(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj())
        group = test.pop_group()
        test.clock.advance(5)
        test.add(make_pod("single").obj())
        test.end(group, failed=["two"])
        again = test.pop_group()
        assert (names(again), again.timestamp) == (["two"], group.timestamp)

    def test_new_members_after_a_success_come_with_a_new_timestamp(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        group = test.pop_group()
        test.add(make_pod("single").obj(), TWO.obj())
        test.clock.advance(1)
        test.end(group)
        assert test.pop().key == "default/single"
        assert names(test.pop_group()) == ["two"]

    def test_an_error_counts_as_a_consecutive_error(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        test.end(test.pop_group(), error("broken"), failed=["one"])
        group = test.group_of(leaf("gang"))
        assert (group.consecutive_errors, group.unschedulable_count) == (1, 0)

    def test_a_success_resets_the_backoff(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj())
        test.reject(test.pop_group())
        test.clock.advance(3)
        test.queue.flush_backoff()
        test.end(test.pop_group(), failed=["two"])
        group = test.group_of(leaf("gang"))
        assert (group.unschedulable_count, group.backoff_until) == (0, NEVER)

    def test_a_group_without_members_left_is_not_requeued(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        test.end(test.pop_group())
        assert test.queue.size == 0
        assert test.queue.pop_nowait() is None

    def test_a_member_that_fails_later_forms_a_new_group(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj(), TWO.obj())
        group = test.pop_group()
        one, two = list(group.pods())
        test.queue.requeue_group(group, None)
        test.queue.done(two.uid)
        test.fail_member(one, "VolumeBinding")
        again = test.pop_group()
        assert (names(again), again.attempts, one.attempts) == (["one"], 1, 2)

    def test_failed_members_come_before_new_ones(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        group = test.pop_group()
        test.add(make_pod("a-new-one").in_group("gang").obj())
        test.clock.advance(1)
        test.end(group, REJECTED, failed=["one"])
        assert names(test.group_of(leaf("gang"))) == ["one", "a-new-one"]

    def test_pending_members_are_not_lost_if_the_cycle_breaks(self) -> None:
        test = queue_with_gang()
        test.add(ONE.obj())
        test.pop_group()
        test.add(TWO.obj())
        assert names(test.pop_group()) == ["two"]
