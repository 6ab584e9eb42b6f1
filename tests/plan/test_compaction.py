# SPDX-License-Identifier: Apache-2.0
"""Moves that empty nodes or make pending pods fit: done for real, one after the other, they do what the plan says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.plan.test_disruption import a_budget, a_workload

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.testing import make_node, make_pod

PRICE = "steersman.dev/price-per-hour"


def a_node(name: str, cpu: int = 4, price: str = "1") -> api.Node:
    return make_node(name).capacity(cpu=str(cpu), memory="8Gi", pods=10).label(PRICE, price).obj()


def done(simulation: Simulation, answer: plan.Compaction) -> None:
    """Carry the moves out in their order; all nodes are cordoned before the first move that empties one."""
    cordoned = False
    for move in answer.moves:
        if move.why.startswith("empties") and not cordoned:
            for node in answer.emptied:
                simulation.cordon(node)
            cordoned = True
        evicted(simulation, move)


def evicted(simulation: Simulation, move: plan.Move) -> None:
    simulation.evict(move.pod)
    simulation.run()
    assert simulation.cluster.get(api.Pod, move.successor).spec.node_name == move.to


@pytest.mark.parametrize("case", range(20))
def test_executed_moves_empty_the_nodes_and_leave_no_pod_pending(case: int) -> None:
    random = Random(case)
    nodes = [a_node(f"n{number}", random.choice((2, 4))) for number in range(random.randint(4, 8))]
    workloads = [a_workload("Deployment", f"app-{number}", random.randint(1, 3)) for number in range(3)]
    cluster: list[Any] = [*nodes, *workloads, a_budget("guard", "app-0", 1)]
    if random.random() < 0.3:
        cluster.append(make_pod("bare").req(cpu="1").node("n0").obj())
    simulation = Simulation.load(cluster, seed=case)
    pending = set(simulation.run().pending)
    present = set(simulation.cluster.objects(api.Pod))
    answer = plan.compact(simulation, budget=6)
    assert len(answer.moves) <= 6
    assert {move.pod for move in answer.moves} <= present
    assert not {move.to for move in answer.moves} & set(answer.emptied)
    done(simulation, answer)
    used = {pod.spec.node_name for pod in simulation.cluster.objects(api.Pod).values()}
    assert not used & set(answer.emptied)
    assert set(simulation.result().pending) <= pending


def test_empty_nodes_need_no_attempt_and_the_end_of_the_search_is_named() -> None:
    bare = [make_pod(f"bare-{n}").req(cpu="3").node(f"n{n}").obj() for n in range(3)]
    full = [a_node(f"n{n}") for n in range(3)]
    idle = [a_node(f"idle-{n}") for n in range(9)]
    stuck = [
        make_pod(f"p{n}").req(cpu="3").node(f"full-{n}").owner("ReplicaSet", "web", uid="u").obj() for n in range(5)
    ]
    owner = api.ReplicaSet(
        metadata=api.ObjectMeta(name="web", namespace="default", uid="u"),
        spec=api.ReplicaSetSpec(replicas=5, selector=api.LabelSelector(match_labels={"app": "web"})),
    )
    nodes = [a_node(f"full-{n}") for n in range(5)]
    simulation = Simulation.load(full, idle, nodes, bare, stuck, owner)
    answer = plan.compact(simulation, tries=2)
    assert answer.emptied == tuple(f"idle-{n}" for n in range(9))
    assert sum("no other place" in why for why in answer.kept.values()) == 2
    expected = "the search stopped after 2 nodes that could not be emptied; 3 nodes more were not tried"
    assert any(note.startswith(expected) for note in answer.notes)


def test_pods_do_not_move_to_nodes_that_are_emptied_later() -> None:
    cluster: list[Any] = [*(a_node(f"n{n}", 8) for n in range(6)), a_workload("Deployment", "web", 6)]
    simulation = Simulation.load(cluster)
    simulation.run()
    answer = plan.compact(simulation)
    assert len(answer.emptied) == 5
    assert len(answer.moves) == 5
    assert len({move.to for move in answer.moves}) == 1


def test_two_half_empty_nodes_become_one_and_what_that_saves_is_reported() -> None:
    simulation = Simulation.load(a_node("n1", price="0.5"), a_node("n2", price="2"), a_workload("Deployment", "web", 2))
    answer = plan.compact(simulation)
    assert answer.emptied == ("n2",)
    assert [(move.from_, move.to) for move in answer.moves] == [("n2", "n1")]
    assert answer.saved == 2
    assert answer.sentence() == "1 move would empty 1 node, which costs 2 per hour"


def test_a_node_that_was_empty_is_not_counted_among_those_that_moves_empty() -> None:
    cluster: list[Any] = [a_node(name, price="1") for name in ("n1", "n2", "n3")]
    simulation = Simulation.load([*cluster, a_workload("Deployment", "web", 2)])
    answer = plan.compact(simulation)
    assert len(answer.emptied) == 2
    assert answer.sentence() == "1 move would empty 1 node; 1 node is empty already; together they cost 2 per hour"


def test_a_pending_pod_fits_after_a_pod_has_moved_away() -> None:
    cluster: list[Any] = [a_node("n1"), a_node("n2"), a_workload("Deployment", "web", 2, "1500m")]
    big = make_pod("big").req(cpu="3").obj()
    simulation = Simulation.load(cluster, seed=1)
    simulation.run()
    simulation.add(big)
    assert list(simulation.run().pending) == ["default/big"]
    answer = plan.compact(simulation, pods=["big"])
    assert len(answer.moves) == 1
    assert answer.placed == {"default/big": answer.moves[0].from_}
    done(simulation, answer)
    assert not simulation.result().pending


def test_a_budget_that_forbids_moves_keeps_a_node() -> None:
    cluster: list[Any] = [a_node("n1"), a_node("n2"), a_workload("Deployment", "web", 2), a_budget("guard", "web", 2)]
    answer = plan.compact(Simulation.load(cluster))
    assert (answer.moves, answer.emptied, answer.is_met) == ((), (), False)
    assert list(answer.kept.values()) == [answer.kept["n1"], answer.kept["n2"]]
    assert "cannot be evicted: Cannot evict pod as it would violate" in answer.kept["n1"]


def test_a_pod_without_a_controller_keeps_its_node() -> None:
    pods = [make_pod(f"bare-{number}").req(cpu="1").node(f"n{number}").obj() for number in (1, 2)]
    answer = plan.compact(Simulation.load(a_node("n1"), a_node("n2"), pods))
    assert answer.kept == {f"n{number}": f"no controller would recreate pod default/bare-{number}" for number in (1, 2)}


def test_no_more_moves_are_made_than_the_budget_allows() -> None:
    simulation = Simulation.load(a_node("n1", 8), a_node("n2", 8), a_workload("Deployment", "web", 6))
    answer = plan.compact(simulation, budget=2)
    assert answer.kept["n1"] == "takes 3 moves, of which 2 are left"


def test_a_pod_that_does_not_wait_cannot_be_made_to_fit() -> None:
    with pytest.raises(InputError, match=r"Pod default/x: is not pending because it fits nowhere; pending are: none"):
        plan.compact(Simulation.load(a_node("n1")), pods=["x"])
