# SPDX-License-Identifier: Apache-2.0
"""Preemption from end to end: the whole scheduler on the embedded cluster, in virtual time."""

from __future__ import annotations

from steersman import Simulation, api
from steersman.framework import Code, PermitPlugin, PermitResult, PodInfo, Status
from steersman.testing import PodBuilder, make_disruption_budget, make_node, make_pod

MINUTE = 60.0


class Doorkeeper(PermitPlugin):
    """Pods with the label `wait` are let in after ten minutes, that is: never."""

    name = "Doorkeeper"

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult | None:
        return PermitResult(Status(Code.WAIT), 10 * MINUTE) if "wait" in pod.labels else None


def a_node(name: str, cpu: str = "4") -> api.Node:
    return make_node(name).capacity(cpu=cpu, memory="8Gi", pods=10).obj()


def a_pod(name: str, cpu: str, priority: int = 0) -> PodBuilder:
    return make_pod(name).req(cpu=cpu).priority(priority)


def running(name: str, node: str, cpu: str, priority: int = 0) -> api.Pod:
    pod = a_pod(name, cpu, priority).node(node).phase("Running")
    return pod.started("2025-12-31T00:00:00Z").obj()


def pods_of(simulation: Simulation) -> set[str]:
    return {pod.metadata.name for pod in simulation.cluster.objects(api.Pod).values()}


def test_a_victim_that_waits_for_permission_is_turned_back_and_tried_again() -> None:
    simulation = Simulation.load(a_node("n1"), a_node("n2", "2"), plugins=[Doorkeeper])
    simulation.add(a_pod("waiting", "3").label("wait", "yes").obj()).run(until=1.0)
    result = simulation.add(a_pod("mighty", "4", 100).obj()).run(until=2 * MINUTE)
    assert result.placements["default/mighty"].node == "n1"
    assert result.placements["default/waiting"].is_pending
    assert pods_of(simulation) == {"waiting", "mighty"}
    assert next(event.reason for event in result.events if event.pod == "default/waiting") == "Preempted"
    simulation.close()


def test_all_victims_of_a_node_are_evicted_and_no_other_pods() -> None:
    pods = [running(f"pod-{index}", "n1" if index < 4 else "n2", "1", index) for index in range(8)]
    simulation = Simulation.load(a_node("n1"), a_node("n2"), *pods)
    result = simulation.add(a_pod("mighty", "3", 100).obj()).run()
    assert result.placements["default/mighty"].node == "n1"
    assert pods_of(simulation) == {"mighty", "pod-3", "pod-4", "pod-5", "pod-6", "pod-7"}
    assert {p.pod for p in result.preempted} == {"default/pod-0", "default/pod-1", "default/pod-2"}


def test_a_less_important_pod_that_was_nominated_there_looks_elsewhere() -> None:
    simulation = Simulation.load(a_node("n1"), running("victim", "n1", "4"))
    simulation.add(a_pod("humble", "4", 10).obj()).run(until=1.0)
    assert simulation.cluster.get(api.Pod, "default/humble").status.nominated_node_name == "n1"
    result = simulation.add(a_pod("mighty", "4", 100).obj()).run()
    assert result.placements["default/mighty"].node == "n1"
    humble = simulation.cluster.get(api.Pod, "default/humble")
    assert (humble.spec.node_name, humble.status.nominated_node_name) == ("", "")


def test_a_preemptor_takes_another_node_that_becomes_free_meanwhile() -> None:
    simulation = Simulation.load(a_node("n1"), running("victim", "n1", "4"))
    simulation.add(a_pod("mighty", "4", 100).obj()).run(until=1.0)
    result = simulation.add(a_node("n2")).run(until=10.0)
    assert result.placements["default/mighty"].node == "n2"


def test_the_victim_carries_the_reason_while_it_terminates() -> None:
    simulation = Simulation.load(a_node("n1"), running("victim", "n1", "4"))
    simulation.add(a_pod("mighty", "4", 100).obj()).run(until=1.0)
    victim = simulation.cluster.get(api.Pod, "default/victim")
    assert victim.metadata.deletion_timestamp is not None
    (target,) = [c for c in victim.status.conditions if c.type == "DisruptionTarget"]
    assert (target.status, target.reason) == ("True", "PreemptionByScheduler")
    assert target.message == "default-scheduler: preempting to accommodate a higher priority pod"


def test_a_pod_that_has_made_room_does_not_preempt_again_while_it_waits() -> None:
    simulation = Simulation.load(a_node("n1"), running("victim", "n1", "4"))
    simulation.add(running("other", "n2", "4"), a_node("n2"))
    simulation.add(a_pod("mighty", "4", 100).obj()).run(until=1.0)
    simulation.add(make_disruption_budget("wakes-nobody").selector({"app": "web"}).obj())
    result = simulation.add(a_pod("small", "1").obj()).run(until=20.0)
    assert len(result.preempted) == 1
    assert pods_of(simulation) == {"victim", "other", "mighty", "small"}


def test_a_storm_leaves_every_victim_accounted_for() -> None:
    nodes = [a_node(f"n{index}") for index in range(30)]
    pods = [running(f"pod-{index}", f"n{index % 30}", "1", index % 3) for index in range(120)]
    simulation = Simulation.load(*nodes, *pods, seed=3)
    result = simulation.add(*(a_pod(f"mighty-{index}", "2", 100).obj() for index in range(60))).run()
    assert not result.pending
    gone = {f"default/pod-{index}" for index in range(120)} - set(simulation.cluster.objects(api.Pod))
    assert {preempted.pod for preempted in result.preempted} == gone
    assert len(gone) == 120
    assert all(usage["pods"].requested == 2 for usage in result.utilisation.nodes.values())


def test_a_storm_with_too_few_nodes_leaves_the_rest_pending() -> None:
    nodes = [a_node(f"n{index}") for index in range(5)]
    pods = [running(f"pod-{index}", f"n{index % 5}", "2") for index in range(10)]
    simulation = Simulation.load(*nodes, *pods)
    result = simulation.add(*(a_pod(f"mighty-{index}", "3", 100).obj() for index in range(8))).run()
    assert len(result.pending) == 3
    assert len(result.preempted) == 10
    assert len(pods_of(simulation)) == 8
