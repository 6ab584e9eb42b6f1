# SPDX-License-Identifier: Apache-2.0
"""Forks: they go their own way, decide what their origin would have decided, and can be committed or reverted."""

from __future__ import annotations

import copy
import gc
import threading
from functools import partial
from typing import Any
from weakref import ref

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.simulation.busy_clusters import Action, actions, busy_cluster, described, fingerprint, histories, validate
from tests.simulation.clusters import a_pod, nodes, pods
from tests.simulation.test_binding_that_waits import AsksForTime, TakesTime

from steersman import api
from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.simulation import Progress, Simulation, SimulationError


def _after(history: list[Action], seed: int = 0) -> Simulation:
    simulation = busy_cluster(seed)
    for act in history:
        act(simulation)
    return simulation


@examples(12)
@given(histories, histories, st.integers(0, 3))
def test_a_fork_never_changes_its_origin(before: list[Action], after: list[Action], seed: int) -> None:
    origin = _after(before, seed)
    untouched = fingerprint(origin)
    fork = origin.fork()
    assert fingerprint(fork) == untouched
    for act in after:
        act(fork)
    fork.run(until=fork.now + 100)
    assert fingerprint(origin) == untouched
    validate(origin)
    validate(fork)


@examples(12)
@given(histories, histories, st.integers(0, 3))
def test_a_fork_decides_what_its_origin_would_have_decided(
    before: list[Action], after: list[Action], seed: int
) -> None:
    origin = _after(before, seed)
    early, late = origin.fork(), origin.fork()
    expected = [act(origin) for act in after]
    origin.run(until=origin.now + 100)
    # One fork begins after the origin went on, the other while nothing else happens.
    assert [act(late) for act in after] == expected
    late.run(until=late.now + 100)
    assert fingerprint(late) == fingerprint(origin)
    for act in after:
        act(early)
    early.run(until=early.now + 100)
    assert fingerprint(early) == fingerprint(origin)
    validate(origin)
    validate(late)


@examples(6)
@given(histories, st.lists(actions, min_size=2, max_size=6))
def test_forks_that_take_turns_do_not_see_each_other(before: list[Action], after: list[Action]) -> None:
    origin = _after(before)
    alone, first, second = origin.fork(), origin.fork(), origin.fork()
    expected = [act(alone) for act in after]
    taken_in_turns = [(act(first), act(second)) for act in after]
    assert taken_in_turns == [(outcome, outcome) for outcome in expected]
    assert fingerprint(first) == fingerprint(second) == fingerprint(alone)
    validate(first)


def test_a_fork_of_a_fork_goes_its_own_way_too() -> None:
    origin = busy_cluster()
    origin.run(until=10)
    child = origin.fork()
    child.add(a_pod("child").obj()).run(until=20)
    grandchild = child.fork()
    grandchild.add(a_pod("grandchild").obj()).run(until=30)
    assert {"default/child", "default/grandchild"} <= grandchild.result().placements.keys()
    assert "default/grandchild" not in child.result().placements
    assert "default/child" not in origin.result().placements


# -- transactions ------------------------------------------------------------------------------------------------------


def test_after_a_commit_the_origin_is_what_the_fork_is() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(3))
    origin.run()
    with origin.fork() as trial:
        trial.add(a_pod("more").obj()).run()
        expected = fingerprint(trial)
        trial.commit()
    assert fingerprint(origin) == expected
    assert origin.run().placements["default/more"].at is not None


def test_what_is_not_committed_is_dropped() -> None:
    origin = Simulation.load(nodes("n1"), pods(3))
    before = fingerprint(origin)
    with origin.fork() as trial:
        trial.add(a_pod("more").obj()).run()
    assert fingerprint(origin) == before


def test_a_fork_that_is_reverted_is_what_its_origin_is_and_can_be_tried_again() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(3))
    origin.run()
    with origin.fork() as trial:
        trial.delete("node/n1").run()
        trial.revert()
        assert fingerprint(trial) == fingerprint(origin)
        trial.add(a_pod("more").obj()).run()
        trial.commit()
    assert "default/more" in origin.result().placements


def test_a_fork_goes_on_after_a_commit_as_a_fork_of_what_it_committed() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(1))
    with origin.fork() as trial:
        trial.add(a_pod("first").obj()).run()
        trial.commit()
        trial.add(a_pod("second").obj()).run()
        assert "default/second" not in origin.result().placements
        trial.commit()
    assert {"default/first", "default/second"} <= origin.result().placements.keys()


def test_commits_of_nested_forks_reach_the_next_one_out() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(1))
    with origin.fork() as outer:
        with outer.fork() as inner:
            inner.add(a_pod("inner").obj()).run()
            inner.commit()
        assert "default/inner" in outer.result().placements
        assert "default/inner" not in origin.result().placements
        outer.commit()
    assert "default/inner" in origin.result().placements


def test_a_commit_over_changes_of_the_origin_is_refused() -> None:
    origin = Simulation.load(nodes("n1"), pods(1))
    trial = origin.fork()
    trial.run()
    origin.add(a_pod("meanwhile").obj())
    with pytest.raises(SimulationError, match="has changed since: its changes would be lost"):
        trial.commit()
    trial.revert()
    trial.run()
    trial.commit()
    assert origin.result().summary.scheduled == 2


def test_there_is_nothing_to_commit_to_without_an_origin() -> None:
    orphan = Simulation.load(nodes("n1")).fork()
    gc.collect()
    with pytest.raises(SimulationError, match="or the original is gone"):
        orphan.revert()


# -- copies and explanations -------------------------------------------------------------------------------------------


def test_a_deep_copy_is_a_fork() -> None:
    origin = busy_cluster()
    origin.run(until=10)
    assert fingerprint(copy.deepcopy(origin)) == fingerprint(origin) == fingerprint(copy.copy(origin))


def test_a_fork_explains_pods_that_were_placed_before_and_after_it_was_made() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(3), seed=3)
    before = origin.run()
    fork = origin.fork()
    result = fork.add(a_pod("more").obj()).run()
    assert result.explain("more").node == result.placements["default/more"].node
    assert result.explain("pod-1") == before.explain("pod-1")
    origin.delete("node/n1").run()
    assert result.explain("more").node == result.placements["default/more"].node


def test_a_result_explains_after_its_simulation_was_reverted() -> None:
    origin = Simulation.load(nodes("n1", "n2"), pods(1))
    trial = origin.fork()
    result = trial.add(a_pod("more").obj()).run()
    trial.revert()
    assert result.explain("more").node == result.placements["default/more"].node


def test_a_fork_that_is_dropped_leaves_nothing_behind() -> None:
    origin = busy_cluster()
    origin.run(until=10)
    fork = origin.fork()
    fork.run(until=20)
    gone: list[ref[Any]] = [ref(fork), ref(fork.cluster), ref(fork.scheduler.cache)]
    del fork
    gc.collect()
    assert [target() for target in gone] == [None, None, None]


def test_a_simulation_that_a_listener_of_its_cluster_refers_to_can_be_dropped() -> None:
    origin = busy_cluster()
    gone = list[ref[Simulation]]()
    for simulation in (origin.fork(), Simulation.load(nodes("n1"))):
        simulation.cluster.subscribe(partial(_look_at, simulation), (api.Pod,))
        simulation.add(a_pod("web").obj())
        simulation.run(until=20)
        gone.append(ref(simulation))
    del simulation
    gc.collect()
    assert [target() for target in gone] == [None, None]


def _look_at(simulation: Simulation, *_: object) -> None:
    assert simulation.now <= 20


def test_an_origin_that_is_dropped_is_not_held_by_its_forks() -> None:
    origin = busy_cluster()
    origin.run(until=10)
    fork = origin.fork()
    gone: list[ref[Any]] = [ref(origin), ref(origin.cluster), ref(origin.scheduler.cache)]
    del origin
    gc.collect()
    assert [target() for target in gone] == [None, None, None]
    assert fork.run(until=20).summary.scheduled


# -- plugins -----------------------------------------------------------------------------------------------------------


class Counts(ScorePlugin):
    """Prefers another node with every pod: state of its own, in a list."""

    name = "Counts"

    def __init__(self) -> None:
        self.pods: list[str] = []

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        if pod.key not in self.pods:
            self.pods.append(pod.key)
        return 100 if node.name == f"n{len(self.pods) % 3}" else 0


class Locks(ScorePlugin):
    """Holds something that belongs to the process."""

    name = "Locks"

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 0


def test_the_state_of_a_plugin_is_forked() -> None:
    origin = Simulation.load(nodes("n0", "n1", "n2"), pods(4), plugins=[Counts])
    for _ in range(2):
        origin.step()
    fork = origin.fork()
    expected = [described(fork.step()) for _ in range(3)]
    assert [described(origin.step()) for _ in range(3)] == expected


def test_while_pods_wait_for_a_plugin_a_fork_is_made_by_doing_everything_again() -> None:
    origin = Simulation.load(nodes("n1"), pods(2), a_pod("patient").obj(), plugins=[TakesTime, AsksForTime])
    origin.run(until=5)
    fork = origin.fork()
    assert fingerprint(fork) == fingerprint(origin)
    assert fork.run().to_dict() == origin.run().to_dict()


def test_a_simulation_with_a_plugin_that_cannot_be_copied_is_done_again() -> None:
    origin = Simulation.load(nodes("n1"), pods(2), plugins=[Locks])
    origin.run()
    assert fingerprint(origin.fork()) == fingerprint(origin)
    origin.cluster.create(a_pod("direct").obj())
    with pytest.raises(
        SimulationError, match=r"no copy can be made, because .* cannot be copied either: a _thread.lock"
    ):
        origin.fork()


def test_a_simulation_is_not_forked_while_it_runs() -> None:
    simulation = Simulation.load(nodes(*(f"n{number}" for number in range(30))), pods(260, cpu="1m"))

    def fork(_: Progress) -> None:
        simulation.fork()

    stopped = simulation.run(on_progress=fork).stopped
    assert "no copy can be made while the simulation runs" in stopped


@pytest.mark.parametrize("seed", [1, 7])
def test_a_fork_with_another_seed_is_what_loading_with_that_seed_gives(seed: int) -> None:
    given = [*nodes("a", "b", "c"), *pods(9)]
    base = Simulation.load(given)
    alone = Simulation.load(given, seed=seed).run()
    fork = base.fork().reseed(seed)
    result = fork.run()
    assert result.placements == alone.placements
    assert result.explain("pod-3").table() == alone.explain("pod-3").table()
    assert base.run().placements == Simulation.load(given).run().placements
    assert result.placements != base.run().placements


def test_durations_follow_another_seed_unless_the_policy_has_one_of_its_own() -> None:
    given = [*nodes("a"), *pods(2)]
    policy = {
        "apiVersion": "steersman.dev/v1",
        "kind": "KubeletPolicy",
        "pods": {"startSeconds": "uniform(1, 99)"},
    }
    for kubelets in (policy, {**policy, "seed": 5}):
        fork = Simulation.load(given, kubelets=kubelets).fork().reseed(3)
        fork.run()
        alone = Simulation.load(given, kubelets=kubelets, seed=3)
        alone.run()
        assert fork.now == alone.now


def test_the_seed_cannot_be_changed_once_chance_had_a_say() -> None:
    ran = Simulation.load([*nodes("a"), *pods(1)])
    ran.run()
    drawn = a_pod("drawn").node("a").obj()
    policy = {"apiVersion": "steersman.dev/v1", "kind": "KubeletPolicy", "pods": {"runSeconds": "uniform(1, 99)"}}
    for simulation in (ran, Simulation.load([*nodes("a"), drawn], kubelets=policy)):
        with pytest.raises(SimulationError, match="the seed cannot change any more"):
            simulation.fork().reseed(1)
    assert Simulation.load([*nodes("a"), drawn]).fork().reseed(1).run().stopped == ""
