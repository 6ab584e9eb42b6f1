# SPDX-License-Identifier: Apache-2.0
"""Pods leave activeQ in the order of the QueueSort plugin."""

from __future__ import annotations

from tests.queue.queues import QueueUnderTest

from steersman.framework import QueuedPod
from steersman.scheduler.queue import sort_key_of
from steersman.testing import make_pod


def test_a_higher_priority_comes_first_and_then_who_waits_longer() -> None:
    test = QueueUnderTest()
    test.add(
        make_pod("low").obj(),
        make_pod("high-1").priority(10).obj(),
        make_pod("low-2").obj(),
        make_pod("high-2").priority(10).obj(),
    )

    assert test.pop_all() == ["high-1", "high-2", "low", "low-2"]


def test_pods_added_at_the_same_moment_leave_in_the_order_of_their_arrival() -> None:
    test = QueueUnderTest()
    for name in ("c", "a", "b"):
        test.queue.add(make_pod(name).obj())

    assert test.pop_all() == ["c", "a", "b"]


def test_an_update_of_the_priority_moves_a_pod_forward() -> None:
    test = QueueUnderTest()
    test.add(make_pod("first").obj(), make_pod("second").obj())
    test.update(make_pod("second").priority(1).obj())

    test.queue.validate_state()
    assert test.pop_all() == ["second", "first"]


def test_an_update_that_is_taken_back_leaves_the_order_as_it_was() -> None:
    test = QueueUnderTest()
    test.add(make_pod("first").obj(), make_pod("second").obj())
    test.update(make_pod("second").priority(1).obj())
    test.update(make_pod("second").obj())

    test.queue.validate_state()
    assert test.pop_all() == ["first", "second"]


def test_a_plugin_may_compare_pods_instead_of_giving_a_key() -> None:
    class ByName:
        def less(self, first: QueuedPod, second: QueuedPod, /) -> bool:
            return first.pod.metadata.name < second.pod.metadata.name

    test = QueueUnderTest(sort_key=sort_key_of(ByName()))
    test.add(*(make_pod(name).obj() for name in ("b", "d", "a", "c")))

    assert test.pop_all() == ["a", "b", "c", "d"]


def test_a_plugin_with_a_sort_key_is_called_for_it() -> None:
    class YoungestFirst:
        def sort_key(self, queued: QueuedPod, /) -> tuple[int]:
            return (-queued.timestamp,)

    test = QueueUnderTest(sort_key=sort_key_of(YoungestFirst()))
    test.add(make_pod("a").obj(), make_pod("b").obj())

    assert test.pop_all() == ["b", "a"]


def test_an_empty_queue_has_nothing_to_pop() -> None:
    assert QueueUnderTest().queue.pop_nowait() is None


def test_pods_that_a_plugin_cannot_compare_are_popped_nevertheless() -> None:
    class Broken:
        def less(self, first: QueuedPod, second: QueuedPod, /) -> bool:
            if "b" in (first.pod.metadata.name, second.pod.metadata.name):
                raise KeyError("b")
            return first.pod.metadata.name < second.pod.metadata.name

    test = QueueUnderTest(sort_key=sort_key_of(Broken()))
    test.add(*(make_pod(name).obj() for name in ("d", "b", "a", "c")))

    assert sorted(test.pop_all()) == ["a", "b", "c", "d"]


def test_a_pod_that_a_plugin_has_no_key_for_is_popped_among_the_others() -> None:
    class Broken:
        def sort_key(self, queued: QueuedPod, /) -> tuple[str]:
            if queued.pod.metadata.name == "b":
                raise KeyError("b")
            return (queued.pod.metadata.name,)

    test = QueueUnderTest(sort_key=sort_key_of(Broken()))
    test.add(*(make_pod(name).obj() for name in ("d", "b", "a", "c")))

    assert test.pop_all() == ["a", "c", "d", "b"]
