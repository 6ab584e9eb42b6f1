# SPDX-License-Identifier: Apache-2.0
"""Plans of nodes: a simulation of the plan leaves nothing pending, and the bound is a bound of every plan."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.plan.random_pools import (
    HOSTNAME,
    a_deployment,
    a_running_cluster,
    cheapest_by_exhaustion,
    daemon_set,
    is_any_pending,
    pod_template,
    some_objects,
    some_pools,
    with_old_pool,
)

from steersman import Simulation, api, plan
from steersman.base.report import Table
from steersman.plan import pattern_bound
from steersman.plan.nodes import NoPlanInTime
from steersman.simulation import NodePools, load_pools
from steersman.testing import make_node, make_pod


@pytest.mark.parametrize("case", range(24))
def test_a_plan_leaves_nothing_pending_and_no_plan_costs_less_than_the_bound(case: int) -> None:
    random = Random(case)
    pools, objects = some_pools(random), some_objects(random)
    new: list[api.Node] = []
    answer = plan.nodes(Simulation.load(*objects, seed=case), pools, on_nodes=new.extend)
    cheapest = cheapest_by_exhaustion(objects, pools, case)
    if answer.is_met:
        assert not is_any_pending(objects, new, case)
        assert cheapest is not None
        assert answer.lower_bound is not None
        assert answer.lower_bound <= cheapest <= answer.cost
    if cheapest is not None:
        assert not answer.is_infeasible


def pools_of(*pools: dict[str, Any], **limits: float) -> NodePools:
    header = {"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools"}
    return load_pools({**header, "pools": list(pools), "limits": limits})


def pool(name: str, price: float, cpu: str = "4", memory: str = "16Gi", **more: Any) -> dict[str, Any]:
    template = {"status": {"allocatable": {"cpu": cpu, "memory": memory}}, **more.pop("template", {})}
    return {"name": name, "pricePerHour": price, "template": template, **more}


def pods(count: int, name: str = "web", **requests: str) -> list[api.Pod]:
    return [make_pod(f"{name}-{number}").label("app", name).req(**requests).obj() for number in range(count)]


def test_the_bound_knows_that_pods_cannot_be_cut() -> None:
    answer = plan.nodes(Simulation.load(*pods(6, cpu="2500m")), pools_of(pool("general", 0.4)))
    assert answer.add == {"general": 6}  # 3.75 nodes' worth of CPU
    assert (answer.cost, answer.lower_bound, answer.gap) == (2.4, 2.4, 0.0)


def test_the_cheapest_mix_of_pools_is_taken() -> None:
    pools = pools_of(pool("small", 1.0), pool("large", 1.8, cpu="8", memory="32Gi"))
    answer = plan.nodes(Simulation.load(*pods(5, cpu="2")), pools)
    assert answer.add == {"small": 1, "large": 1}
    assert answer.sentence() == "add 1 small, 1 large: 2.8 per hour, and no plan costs less than 2.8 (gap 0.0%)"


def test_pods_that_keep_apart_need_a_node_each() -> None:
    apart = [make_pod(f"db-{n}").label("app", "db").anti_affinity(HOSTNAME, {"app": "db"}).obj() for n in range(4)]
    answer = plan.nodes(Simulation.load(*apart), pools_of(pool("general", 1)))
    assert (answer.add, answer.lower_bound) == ({"general": 4}, 4.0)


def test_daemon_pods_are_charged_to_every_new_node() -> None:
    answer = plan.nodes(Simulation.load(daemon_set(), *pods(4, cpu="2")), pools_of(pool("general", 1)))
    assert (answer.add, answer.lower_bound) == ({"general": 4}, 4.0)  # 3.7 CPU are left of 4


def test_a_daemon_pod_without_room_on_an_empty_node_is_named() -> None:
    answer = plan.nodes(Simulation.load(daemon_set(), *pods(1, cpu="100m")), pools_of(pool("tiny", 1, cpu="200m")))
    assert answer.add == {"tiny": 1}
    assert list(answer.unplaceable.values()) == [
        "an empty node of pool tiny has no room for it with its other daemon pods"
    ]


def test_room_on_existing_nodes_costs_nothing() -> None:
    node = make_node("there").capacity(cpu="4", memory="16Gi", pods=10).obj()
    fits = plan.nodes(Simulation.load(node, *pods(2, cpu="2")), pools_of(pool("general", 1)))
    assert (fits.add, fits.cost, fits.lower_bound) == ({}, 0.0, 0.0)
    assert fits.sentence() == "add nothing: 0 per hour, and no plan costs less than 0 (gap 0.0%)"
    more = plan.nodes(Simulation.load(node, *pods(3, cpu="2")), pools_of(pool("general", 1)))
    assert (more.add, more.lower_bound) == ({"general": 1}, 1.0)


def test_pods_that_fit_no_pool_are_named_and_the_others_are_planned_for() -> None:
    answer = plan.nodes(
        Simulation.load(*pods(1, "huge", cpu="64"), *pods(1, cpu="2")), pools_of(pool("general", 1), pool("other", 2))
    )
    assert answer.add == {"general": 1}
    assert answer.unplaceable == {
        "default/huge-0": "no pool has a node for it, even without other pods: 2 Insufficient cpu"
    }
    assert not answer.is_met
    assert answer.sentence().endswith("(gap 0.0%); 1 pod stays pending")


def test_pods_that_no_number_of_nodes_helps_are_given_up() -> None:
    lonely = make_pod("lonely").pod_affinity("topology.kubernetes.io/zone", {"app": "nobody"}).obj()
    answer = plan.nodes(Simulation.load(lonely, *pods(2, cpu="3")), pools_of(pool("general", 1, zones=["a"])))
    assert answer.add == {"general": 2}
    assert list(answer.pending) == ["default/lonely"]
    assert "didn't match pod affinity rules" in answer.pending["default/lonely"]
    assert answer.lower_bound == 2.0


def test_limits_that_leave_no_plan_are_proven_to_do_so() -> None:
    answer = plan.nodes(Simulation.load(*pods(3, cpu="3")), pools_of(pool("general", 1, max=2)))
    assert answer.add == {"general": 2}
    assert len(answer.pending) == 1
    assert answer.is_infeasible
    assert not answer.is_met


def test_a_pool_has_its_least_number_of_nodes() -> None:
    answer = plan.nodes(Simulation.load(*pods(1, cpu="1")), pools_of(pool("cheap", 1), pool("dear", 3, min=2)))
    assert (answer.add, answer.cost, answer.lower_bound) == ({"dear": 2}, 6.0, 6.0)


def test_spot_nodes_have_no_more_than_their_share() -> None:
    pools = pools_of(pool("spot", 0.2, spot=True), pool("steady", 1), spotShare=0.5)
    answer = plan.nodes(Simulation.load(*pods(4, cpu="3")), pools)
    assert (answer.add, answer.lower_bound) == ({"spot": 2, "steady": 2}, 2.4)


def test_existing_nodes_go_if_they_may_and_their_pods_find_another_place() -> None:
    nodes = [
        make_node(f"old-{n}").capacity(cpu="4", memory="16Gi", pods=10).label("steersman.dev/pool", "general").obj()
        for n in range(3)
    ]
    deployment = api.Deployment(
        metadata=api.ObjectMeta(name="web", namespace="default"),
        spec=api.DeploymentSpec(
            replicas=2, selector=api.LabelSelector(match_labels={"app": "web"}), template=pod_template("web", "1")
        ),
    )
    pools = pools_of(pool("general", 1, min=1))
    kept = plan.nodes(Simulation.load(*nodes, deployment), pools)
    assert (kept.remove, kept.cost, kept.cost_after) == ([], 0.0, 3.0)
    fewer = plan.nodes(Simulation.load(*nodes, deployment), pools, remove=True)
    assert len(fewer.remove) == 2
    assert (fewer.cost, fewer.lower_bound, fewer.cost_before, fewer.cost_after) == (1.0, 1.0, 3.0, 1.0)
    bare = make_pod("bare").node("old-0").obj()
    held = plan.nodes(Simulation.load(*nodes, deployment, bare), pools, remove=True)
    assert sorted(held.remove) == ["old-1", "old-2"]


def test_without_the_solver_there_is_a_plan_and_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_bound, "is_available", lambda: False)
    answer = plan.nodes(Simulation.load(*pods(5, cpu="2")), pools_of(pool("general", 1)))
    assert (answer.add, answer.lower_bound, answer.gap) == ({"general": 3}, None, None)
    assert "no lower bound: the solver is not installed; pip install 'steersman[plan]'" in answer.notes
    assert answer.sentence() == "add 3 general: 3 per hour"


def test_the_same_question_has_the_same_answer() -> None:
    random = Random(7)
    pools, objects = some_pools(random), some_objects(random)
    assert plan.nodes(Simulation.load(*objects), pools) == plan.nodes(Simulation.load(*objects), pools)


def test_an_answer_has_a_report_and_rows() -> None:
    answer = plan.nodes(Simulation.load(*pods(2, cpu="3")), pools_of(pool("general", 1), pool("unused", 9)))
    assert answer.report().question == "How many nodes of which pool, so that everything fits at the least cost?"
    row = {"pool": "general", "existing": 0, "add": 2, "remove": 0, "nodes": 2, "pricePerHour": 1.0, "cost": 2.0}
    assert answer.rows()[0] == row
    assert set(answer.to_dict()) == set(plan.schema(plan.NodesAnswer)["properties"])


@pytest.mark.parametrize("case", range(24))
def test_removing_nodes_of_a_running_cluster_leaves_no_pod_pending_that_was_not(case: int) -> None:
    random = Random(case)
    pools = with_old_pool(random, some_pools(random))
    simulation = Simulation.load(*a_running_cluster(random), seed=case)
    before = simulation.run()
    new: list[api.Node] = []
    answer = plan.nodes(simulation, pools, remove=True, on_nodes=new.extend)
    carried_out = simulation.fork()
    carried_out.delete(*(f"node/{name}" for name in answer.remove))
    carried_out.add(new)
    after = carried_out.run()
    assert len(after.pending) <= len(before.pending)
    assert len(after.pending) == len(answer.pending) + len(answer.unplaceable)
    assert answer.lower_bound is None or answer.lower_bound <= answer.cost
    assert pods_of_workloads(carried_out) == pods_of_workloads(simulation)
    if answer.is_met and not any("above its max" in note for note in answer.notes):
        assert all(one.nodes <= limit for one in answer.pools if (limit := pools[one.pool].max) is not None)


def pods_of_workloads(simulation: Simulation) -> int:
    return sum("agent" not in key for key in simulation.cluster.objects(api.Pod))


def running(*objects: api.Object) -> Simulation:
    simulation = Simulation.load(*objects)
    assert not simulation.run().pending
    return simulation


def nodes_of(pool_name: str, count: int) -> list[api.Node]:
    made = (make_node(f"{pool_name}-{n}").capacity(cpu="4", memory="16Gi", pods=10) for n in range(count))
    return [node.label("steersman.dev/pool", pool_name).obj() for node in made]


def test_nodes_that_running_pods_need_are_not_removed() -> None:
    simulation = running(*nodes_of("general", 6), a_deployment("web", 5, "2"), a_deployment("db", 1, "3"))
    answer = plan.nodes(simulation, pools_of(pool("general", 0.4)), remove=True)
    assert answer.is_met
    assert (answer.add, len(answer.remove)) == ({}, 2)
    assert (answer.cost, answer.lower_bound) == (1.6, 1.6)


def test_a_type_of_nodes_is_replaced_by_another_if_its_pool_may_have_none() -> None:
    simulation = running(*nodes_of("general", 4), a_deployment("web", 8, "1500m"))
    pools = pools_of(pool("general", 0.4, max=0), pool("new", 0.5, cpu="8", memory="32Gi"))
    answer = plan.nodes(simulation, pools, remove=True)
    assert answer.is_met
    assert (len(answer.remove), answer.add) == (4, {"new": 2})
    kept = plan.nodes(simulation, pools)
    assert "pool general: 4 nodes above its max stay; --remove lets them go" in kept.notes


def test_nodes_above_the_limit_of_their_pool_stay_if_their_pods_have_no_other_place() -> None:
    simulation = running(*nodes_of("general", 2), a_deployment("web", 4, "1500m"))
    answer = plan.nodes(simulation, pools_of(pool("general", 0.4, max=0), pool("new", 0.5, max=1)), remove=True)
    assert not answer.pending
    assert any("pool general: 1 node above its max stay" in note for note in answer.notes)


def test_existing_nodes_are_replaced_by_cheaper_ones() -> None:
    simulation = running(*nodes_of("general", 4), a_deployment("web", 8, "1500m"))
    answer = plan.nodes(simulation, pools_of(pool("general", 1), pool("new", 0.5)), remove=True)
    assert answer.is_met
    assert (len(answer.remove), answer.add, answer.cost) == (4, {"new": 4}, 2.0)


def test_a_node_with_pods_of_a_controller_that_is_not_in_the_input_stays() -> None:
    orphan = make_pod("orphan").node("general-0").req(cpu="1").owner("ReplicaSet", "gone").obj()
    simulation = Simulation.load(*nodes_of("general", 2), orphan)
    answer = plan.nodes(simulation, pools_of(pool("general", 1)), remove=True)
    assert answer.remove == ["general-1"]


def test_an_interrupted_search_gives_the_best_plan_so_far() -> None:
    costs: list[float] = []

    def interrupt_after_the_first_plan(_: float, cost: float | None) -> None:
        if cost is not None:
            costs.append(cost)
            raise KeyboardInterrupt

    pools = pools_of(pool("small", 1.0), pool("large", 1.8, cpu="8", memory="32Gi"))
    answer = plan.nodes(Simulation.load(*pods(5, cpu="2")), pools, on_progress=interrupt_after_the_first_plan)
    assert answer.is_interrupted
    assert answer.is_met
    assert answer.cost == costs[0]


def test_a_time_limit_that_leaves_no_time_for_a_plan_says_so() -> None:
    with pytest.raises(NoPlanInTime, match="no time is left to search for a plan"):
        plan.nodes(Simulation.load(*pods(5, cpu="2")), pools_of(pool("small", 1.0)), time_limit=0.0)


def test_the_table_of_pending_pods_has_one_row_for_equal_ones() -> None:
    answer = plan.nodes(Simulation.load(*pods(5, cpu="3")), pools_of(pool("general", 1, max=2)))
    assert len(answer.pending) == 3
    table = next(one for one in answer.report().sections if isinstance(one, Table) and "pending" in one.columns)
    assert [row[0] for row in table.rows] == [f"{next(iter(answer.pending))} and 2 more"]
