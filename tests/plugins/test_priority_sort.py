# SPDX-License-Identifier: Apache-2.0
"""The order of the active queue: priority, then time in the queue."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.api import Pod
from steersman.scheduler.plugins.priority_sort import PrioritySort
from steersman.testing import make_pod


@dataclass
class Entry:
    pod: Pod
    timestamp: int
    attempts: int = 0


def comes_first(first: Entry, second: Entry) -> bool:
    plugin = PrioritySort()
    return plugin.sort_key(first) < plugin.sort_key(second)


def test_the_pod_of_higher_priority_comes_first_though_it_came_later() -> None:
    low = Entry(make_pod("low").priority(10).obj(), 1)
    high = Entry(make_pod("high").priority(1000).obj(), 2)

    assert comes_first(high, low)
    assert not comes_first(low, high)


def test_among_equal_priorities_the_earlier_pod_comes_first() -> None:
    early = Entry(make_pod("early").priority(5).obj(), 1)
    late = Entry(make_pod("late").priority(5).obj(), 2)

    assert comes_first(early, late)
    assert not comes_first(late, early)


def test_a_pod_without_priority_counts_as_zero() -> None:
    unset = Entry(make_pod("unset").obj(), 1)
    negative = Entry(make_pod("negative").priority(-1).obj(), 0)
    zero = Entry(make_pod("zero").priority(0).obj(), 0)

    assert comes_first(unset, negative)
    assert comes_first(zero, unset)


def test_neither_of_two_equal_entries_comes_first() -> None:
    first, second = (Entry(make_pod(name).obj(), 1) for name in ("a", "b"))

    assert not comes_first(first, second)
    assert not comes_first(second, first)
