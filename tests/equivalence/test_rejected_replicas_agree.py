# SPDX-License-Identifier: Apache-2.0
"""Replicas that fit nowhere are rejected like the first of them, with or without an evaluation of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from unittest.mock import patch

from hypothesis import given, strategies as st
from tests.equivalence import vocabulary as words
from tests.equivalence.examples import examples
from tests.equivalence.vocabulary import HOSTNAME, Call, Calls

from steersman import Simulation, api
from steersman.scheduler.engine.columnar import ColumnarEngine, ColumnarEvaluation
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.testing import make_disruption_budget

priorities = st.sampled_from([0, 5, 10])
groups = st.lists(st.tuples(words.waiting_pods, priorities, st.integers(2, 6)), min_size=1, max_size=4)
running = st.lists(st.tuples(words.modest_pods, priorities), max_size=4)
clusters = st.lists(st.tuples(words.usual_nodes, running), min_size=1, max_size=5)

Nodes = Sequence[tuple[Calls, Sequence[tuple[Calls, int]]]]
Groups = Sequence[tuple[Calls, int, int]]


class Outcome(NamedTuple):
    messages: dict[str, str]
    placed: dict[str, str]
    preempted: list[str]
    random_numbers_next: float


def objects(nodes: Nodes, waiting: Groups) -> list[api.Object]:
    made: list[api.Object] = [make_disruption_budget("web").selector({"app": "web"}).allows(1).obj()]
    for index, (calls, pods) in enumerate(nodes):
        name = f"n{index}"
        made.append(words.node_of(name, (Call("label", (HOSTNAME, name)), *calls)))
        for number, (pod, priority) in enumerate(pods):
            on_node = words.pod_of(f"on-{index}-{number}", pod).node(name).priority(priority)
            made.append(on_node.phase("Running").obj())
    for group, (pod, priority, count) in enumerate(waiting):
        made += [words.pod_of(f"pod-{group}-{number}", pod).priority(priority).obj() for number in range(count)]
    return made


def outcome(nodes: Nodes, waiting: Groups) -> Outcome:
    with Simulation.load(*objects(nodes, waiting), seed=3, controllers=False, validate="ignore") as simulation:
        result = simulation.run(until=90)
        scheduler = simulation.scheduler
        scheduler.cache.validate_state()
        scheduler.cycle.validate_state()
        messages = {key: placement.message for key, placement in result.placements.items()}
        placed = {key: placement.node for key, placement in result.placements.items()}
        preempted = sorted(str(preemption) for preemption in simulation.result().preempted)
        return Outcome(messages, placed, preempted, scheduler.cycle.rng.random())


@examples(60)
@given(clusters, groups)
def test_replicas_are_rejected_and_preempt_as_if_each_were_evaluated(nodes: Nodes, waiting: Groups) -> None:
    reusing = outcome(nodes, waiting)
    with patch.object(ColumnarEngine, "_version", return_value=None):
        assert reusing == outcome(nodes, waiting)


def full_cluster() -> list[api.Object]:
    five: tuple[Call, ...] = (Call("req", (), {"cpu": "5"}),)
    return objects([((words.SPACIOUS,), [(five, 0)])] * 3, [(five, 5, 3), (five, 0, 6)])


def test_rejected_replicas_are_evaluated_once() -> None:
    evaluated: list[str] = []
    searched: list[str] = []
    evaluate, search = ColumnarEvaluation.__init__, ColumnDryRun._search

    def noting_evaluation(self: ColumnarEvaluation, engine: object, entry: object, pod: object, *rest: object) -> None:
        evaluated.append(pod.key)  # type: ignore[attr-defined]
        evaluate(self, engine, entry, pod, *rest)  # type: ignore[arg-type]

    def noting_search(self: ColumnDryRun, question: object) -> object:
        searched.append(question.pod.key)  # type: ignore[attr-defined]
        return search(self, question)  # type: ignore[arg-type]

    with (
        patch.object(ColumnarEvaluation, "__init__", noting_evaluation),
        patch.object(ColumnDryRun, "_search", noting_search),
        Simulation.load(*full_cluster(), seed=3, controllers=False) as simulation,
    ):
        for _ in range(9):
            simulation.step()
    replicas = [key for key in evaluated if key.startswith("default/pod-1-")]
    assert replicas == ["default/pod-1-0"]
    assert [key for key in searched if key.startswith("default/pod-1-")] == ["default/pod-1-0"]
