# SPDX-License-Identifier: Apache-2.0
"""Replicas that are placed together get the nodes that they would get one by one, and leave everything as it would be then;
and so do pods that are placed by their signature, without an evaluation for others to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given, strategies as st
from tests.equivalence import vocabulary as words
from tests.equivalence.examples import examples
from tests.equivalence.vocabulary import HOSTNAME, Call, Calls

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import Store
from steersman.scheduler.assembly import EvaluationObserver, SchedulerOptions
from steersman.scheduler.cycle.decision import Decision, Dropped, Scheduled
from steersman.simulation.virtual_time.driver import Driver
from steersman.testing import make_service

groups = st.lists(st.tuples(words.waiting_pods, st.integers(1, 9)), min_size=1, max_size=4)
clusters = st.lists(words.mostly((4, words.usual_nodes), (1, words.odd_nodes)), min_size=1, max_size=6)
SERVICE = make_service("web").selector({"app": "web"}).obj()


class Outcome(NamedTuple):
    decisions: list[tuple[str, str]]
    placed: dict[str, str]
    pops: int
    random_numbers_next: float


def driver(nodes: Sequence[Calls], pods: Sequence[tuple[Calls, int]]) -> Driver:
    clock = ManualClock()
    store = Store(clock)
    for index, calls in enumerate(nodes):
        name = f"n{index}"
        store.create(words.node_of(name, (Call("label", (HOSTNAME, name)), *calls)))
    store.create(SERVICE)
    for group, (calls, count) in enumerate(pods):
        for index in range(count):
            store.create(words.pod_of(f"pod-{group}-{index}", calls).obj())
    return Driver(store, clock, 7, SchedulerOptions())


def told(decision: Decision) -> tuple[str, str]:
    if isinstance(decision, Scheduled):
        return decision.pod.key, f"{decision.node}, one of {decision.choice.ties} of {decision.feasible_nodes}"
    return decision.pod.key, decision.reason if isinstance(decision, Dropped) else decision.message


def outcome(driven: Driver, decisions: Sequence[Decision]) -> Outcome:
    scheduler = driven.scheduler
    scheduler.cache.validate_state()
    scheduler.queue.validate_state()
    scheduler.cycle.validate_state()
    driven.close()
    placed = {api.key(pod): pod.spec.node_name for pod in scheduler.pods.values()}
    return Outcome(list(map(told, decisions)), placed, scheduler.queue.scheduling_cycle, scheduler.cycle.rng.random())


def one_by_one(driven: Driver) -> Outcome:
    decisions: list[Decision] = []
    while (decision := driven.step()) is not None and len(decisions) < 200:
        decisions.append(decision)
    return outcome(driven, decisions)


def evaluated(driven: Driver) -> Outcome:
    """One by one, each with an evaluation that somebody sees."""
    driven.scheduler.observe(EvaluationObserver(lambda pod, evaluation: None))
    return one_by_one(driven)


def together(driven: Driver) -> Outcome:
    decisions: list[Decision] = []
    driven.run(on_decision=decisions.append)
    return outcome(driven, decisions)


@examples(30)
@given(clusters, groups)
def test_replicas_get_the_same_nodes(nodes: list[Calls], pods: list[tuple[Calls, int]]) -> None:
    assert together(driver(nodes, pods)) == one_by_one(driver(nodes, pods)) == evaluated(driver(nodes, pods))


@examples(60)
@given(
    st.lists(words.usual_nodes, min_size=3, max_size=7), st.lists(st.tuples(words.pods, st.integers(2, 12)), max_size=3)
)
def test_long_runs_of_replicas_get_the_same_nodes(nodes: list[Calls], pods: list[tuple[Calls, int]]) -> None:
    without_claims = [(tuple(c for c in calls if c.method != "pvc"), count) for calls, count in pods]
    alone = one_by_one(driver(nodes, without_claims))
    assert together(driver(nodes, without_claims)) == alone == evaluated(driver(nodes, without_claims))


def test_replicas_are_placed_together() -> None:
    driven = driver([(words.SPACIOUS,)] * 3, [((Call("req", (), {"cpu": "1"}),), 20)])
    assert [len(driven.scheduler.schedule_some(64)) for _ in range(3)] == [20, 0, 0]


def test_the_first_that_fits_nowhere_ends_the_run() -> None:
    driven = driver([(words.SPACIOUS,)] * 2, [((Call("req", (), {"cpu": "3"}),), 6)])
    assert [len(driven.scheduler.schedule_some(64)) for _ in range(4)] == [4, 1, 1, 0]
