# SPDX-License-Identifier: Apache-2.0
"""The base of controllers: one look for many changes, retries, and faults that stay with their key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.embedded.stores import START, make_store
from tests.embedded.timers import FakeTimers

from steersman.base.internal_errors import InternalErrors
from steersman.cluster.controllers import Cluster, Controller
from steersman.cluster.controllers.controller import MAX_RETRY_SECONDS
from steersman.cluster.store import StatusError, Store
from steersman.scheduler.host import TimerHeap


class Noting(Controller):
    """Notes when it looked at what; `fail` decides what comes of it."""

    NAME = "noting"

    def __init__(self, cluster: Cluster, fail: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(cluster)
        self.looks: list[tuple[str, float]] = []
        self._fail = fail

    def reconcile(self, key: str) -> None:
        self.looks.append((key, round(self.store.clock.now() - START, 3)))
        self._fail(key)

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.looks]


def _controller(fail: Callable[[str], None] = lambda _: None) -> tuple[Noting, FakeTimers]:
    store = make_store()
    timers = FakeTimers(store)
    return Noting(Cluster(store, timers), fail), timers


def _refuse(_: str) -> None:
    raise StatusError("not now")


def test_changes_of_one_moment_lead_to_one_look_at_each_key_in_order() -> None:
    controller, timers = _controller()
    for key in ("b", "a", "b"):
        controller.enqueue(key)
    assert controller.looks == []
    timers.run_until(0)
    assert controller.keys == ["b", "a"]


def test_what_is_enqueued_while_looking_is_examined_in_the_same_moment() -> None:
    controller, timers = _controller(lambda key: controller.enqueue("next") if key == "first" else None)
    controller.enqueue("first")
    timers.run_until(0)
    assert controller.looks == [("first", 0.0), ("next", 0.0)]


def test_a_refused_key_is_tried_again_after_ever_longer_pauses() -> None:
    controller, timers = _controller(_refuse)
    controller.enqueue("a")
    timers.run_until(0.2)
    assert [moment for _, moment in controller.looks] == [0.0, 0.005, 0.015, 0.035, 0.075, 0.155]


def test_pauses_do_not_grow_beyond_the_longest() -> None:
    controller, timers = _controller(_refuse)
    controller.enqueue("a")
    timers.run_until(20_000)
    moments = [moment for _, moment in controller.looks]
    assert moments[-1] - moments[-2] == pytest.approx(MAX_RETRY_SECONDS)


def test_success_forgets_the_failures() -> None:
    failing = [True]
    controller, timers = _controller(lambda _: _refuse("") if failing[0] else None)
    controller.enqueue("a")
    timers.run_until(0.1)
    failing[0] = False
    timers.run_until(1)
    failing[0], controller.looks[:] = True, []
    controller.enqueue("a")
    timers.run_until(1.006)
    assert [moment for _, moment in controller.looks] == [1.0, 1.005]


def test_a_refused_key_does_not_hold_up_others() -> None:
    controller, timers = _controller(lambda key: _refuse(key) if key == "bad" else None)
    for key in ("bad", "good"):
        controller.enqueue(key)
    timers.run_until(0)
    assert controller.keys == ["bad", "good"]


def test_a_fault_is_counted_and_does_not_hold_up_others() -> None:
    def break_down(key: str) -> None:
        if key == "bad":
            raise RuntimeError("a mistake")

    store = make_store()
    timers, faults = FakeTimers(store), InternalErrors()
    controller = Noting(Cluster(store, timers, faults=faults), break_down)
    for key in ("bad", "good"):
        controller.enqueue(key)
    timers.run_until(0.006)
    assert controller.keys == ["bad", "good", "bad"]


def test_without_a_counter_of_faults_they_come_through() -> None:
    def break_down(_: str) -> None:
        raise RuntimeError("a mistake")

    controller, timers = _controller(break_down)
    controller.enqueue("a")
    with pytest.raises(RuntimeError, match="a mistake"):
        timers.run_until(0)


def test_of_several_later_looks_the_earliest_counts() -> None:
    controller, timers = _controller()
    for seconds in (5, 3, 4):
        controller.enqueue_after("a", seconds)
    timers.run_until(10)
    assert controller.looks == [("a", 3.0)]
    controller.enqueue_after("a", 1)
    timers.run_until(20)
    assert controller.looks[1:] == [("a", 11.0)]


def _heap_controller(fail: Callable[[str], None]) -> tuple[Noting, TimerHeap, Store]:
    store, timers = make_store(), TimerHeap()
    return Noting(Cluster(store, timers), fail), timers, store


def test_a_retry_does_not_keep_a_simulation_alive() -> None:
    controller, timers, store = _heap_controller(_refuse)
    controller.enqueue("a")
    assert len(timers) == 1
    timers.run_due(store.clock.monotonic())
    assert len(timers) == 0
    assert timers.next_time() is not None


def test_a_later_look_keeps_a_simulation_alive_unless_it_is_in_the_background() -> None:
    controller, timers, _ = _heap_controller(lambda _: None)
    controller.enqueue_after("a", 5, is_background=True)
    assert len(timers) == 0
    controller.enqueue_after("a", 7)
    assert len(timers) == 1


def test_a_controller_gives_way_between_two_keys_and_goes_on_where_it_was() -> None:
    heap, store = TimerHeap(), make_store()
    controller = Noting(Cluster(store, heap, is_overdue=lambda: True))
    for key in ("a", "b", "c"):
        controller.enqueue(key)
    turns = []
    while (callback := heap.pop_due(store.clock.monotonic())) is not None:
        callback()
        turns.append(list(controller.keys))
        if turns[-1] == ["a"]:
            controller.enqueue("a")
    assert turns == [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "a"]]
