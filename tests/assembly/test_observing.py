# SPDX-License-Identifier: Apache-2.0
"""Observers are told what happens to every pod, in order, and disturb nobody."""

from __future__ import annotations

import pytest

from steersman.base.clock import ManualClock
from steersman.base.internal_errors import InternalErrors
from steersman.base.rng import SeededRng
from steersman.cluster.store import Store, feed
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.assembly import AttemptObserver, Scheduler, SchedulerOptions
from steersman.scheduler.assembly.observers import OBSERVER
from steersman.scheduler.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_node, make_pod


class Diary(AttemptObserver):
    """Writes down everything."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begins(self) -> None:
        self.lines.append("begins")

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self.lines.append(f"{pod.name} fits on {evaluation.feasible_count}")

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.lines.append(f"{decision.pod.name} decided in attempt {queued.attempts}")

    def carried_out(self, decision: Decision) -> None:
        self.lines.append(f"{decision.pod.name} carried out")

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self.lines.append(f"{decision.pod.name} failed")

    def bound(self, decision: Scheduled) -> None:
        self.lines.append(f"{decision.pod.name} bound to {decision.node}")


class Torn(AttemptObserver):
    """Breaks when it is told of a decision."""

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        raise RuntimeError("torn")


class World:
    """A scheduler on an embedded cluster with one node for one pod of two cpu."""

    def __init__(self, *observers: AttemptObserver, errors: InternalErrors | None = None) -> None:
        clock = ManualClock(1_000_000.0)
        store = Store(clock)
        options = SchedulerOptions(internal_errors=errors)
        writer = EmbeddedWriter(store, clock)
        self.scheduler = Scheduler(clock, SeededRng(1), writer, Tasks(clock).spawn, options)
        for observer in observers:
            self.scheduler.observe(observer)
        feed(store, self.scheduler.ingest)
        store.create(make_node("n1").capacity(cpu="2", pods=10).obj())
        self.create = store.create

    def run(self, *names: str) -> None:
        for name in names:
            self.create(make_pod(name).req(cpu="2").obj())
        while self.scheduler.schedule_one() is not None:
            pass


def test_everything_is_reported_in_order() -> None:
    diary = Diary()
    World(diary).run("a", "b")
    assert diary.lines == [
        "begins",
        "a fits on 1",
        "a decided in attempt 1",
        "a bound to n1",
        "a carried out",
        "begins",
        "b fits on 0",
        "b decided in attempt 1",
        "b failed",
        "b carried out",
        "begins",
    ]


def test_an_observer_that_breaks_keeps_neither_others_nor_the_pod_from_going_on() -> None:
    errors, diary = InternalErrors(), Diary()
    World(Torn(), diary, errors=errors).run("a")
    assert diary.lines[-3:-1] == ["a bound to n1", "a carried out"]
    assert errors.counts[OBSERVER] == 1


def test_where_errors_are_not_survived_an_observer_that_breaks_is_the_caller_s_error() -> None:
    with pytest.raises(RuntimeError, match="torn"):
        World(Torn()).run("a")


def test_observers_get_only_the_calls_that_they_define() -> None:
    world = World(Torn(), errors=InternalErrors())
    assert world.scheduler._observers.on_evaluated is None
