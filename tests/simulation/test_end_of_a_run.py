# SPDX-License-Identifier: Apache-2.0
"""When a simulation ends, with and without a deadline."""

from __future__ import annotations

from tests.simulation.clusters import a_pod, nodes, pods

from steersman.cluster.kubelets import RUN_SECONDS
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    FilterPlugin,
    NodeInfo,
    PermitHandle,
    PermitPlugin,
    PermitResult,
    PodInfo,
    Status,
)
from steersman.framework.status import Code
from steersman.simulation import Simulation


def test_without_a_deadline_it_ends_when_nothing_would_change_any_more() -> None:
    result = Simulation.load(nodes("n1"), pods(6)).run()
    assert result.summary.scheduled == 4
    assert result.summary.pending == 2
    assert result.summary.seconds == 0.0


def test_a_pod_that_ends_makes_room_for_one_that_waits() -> None:
    first = a_pod("first", cpu="3").annotation(RUN_SECONDS, "45").obj()
    result = Simulation.load(nodes("n1"), first, a_pod("second", cpu="3").obj()).run()
    assert result.placements["default/first"].at == 0.0
    second = result.placements["default/second"]
    assert (second.node, second.at, second.attempts) == ("n1", 45.0, 2)
    assert result.summary.seconds == 45.0


def test_with_a_deadline_it_goes_on_until_then() -> None:
    result = Simulation.load(nodes("n1"), pods(1)).run(until=600)
    assert result.summary.seconds == 600.0


def test_unschedulable_pods_are_tried_again_after_five_minutes() -> None:
    result = Simulation.load(nodes("n1"), a_pod("big", cpu="5").obj()).run(until=1000)
    pending = result.pending["default/big"]
    assert pending.attempts == 4
    assert pending.since == 0.0


def test_a_deadline_counts_from_the_start_of_the_simulation() -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    simulation.run(until=60)
    assert simulation.run(until=90).summary.seconds == 90.0
    assert simulation.run(until=30).summary.seconds == 90.0


class BreaksTwice(FilterPlugin):
    """Raises for the first two attempts."""

    name = "BreaksTwice"
    asked = 0

    def filter(self, pod: PodInfo, node: NodeInfo) -> None:
        BreaksTwice.asked += 1
        if BreaksTwice.asked <= 2:
            raise RuntimeError("not yet")


def test_a_pod_that_fails_with_errors_is_tried_three_times() -> None:
    BreaksTwice.asked = 0
    result = Simulation.load(nodes("n1"), pods(1), plugins=[BreaksTwice]).run()
    placement = result.placements["default/pod-0"]
    assert placement.node == "n1"
    assert placement.attempts == 3
    assert placement.at is not None
    assert placement.at > 0


def test_gated_pods_do_not_keep_the_clock_from_moving() -> None:
    gated = a_pod("gated").gate("example.com/wait").obj()
    result = Simulation.load(nodes("n1"), gated).run(until=3600)
    assert result.pending["default/gated"].reason == "SchedulingGated"
    assert result.summary.seconds == 3600.0


def test_a_cluster_without_nodes_is_no_reason_to_fail() -> None:
    result = Simulation.load(pods(1)).run()
    assert result.pending["default/pod-0"].message == "no nodes available to schedule pods"


class ActivatesEachOther(FilterPlugin):
    """Rejects every pod, and has it tried again at once."""

    name = "ActivatesEachOther"

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self._pods = handle.pods

    def filter(self, pod: PodInfo, node: NodeInfo) -> str:
        self._pods.activate([pod.pod])
        return "never"


def test_a_simulation_that_stands_still_ends_with_what_it_has() -> None:
    """Activation goes past backoff: without an end, no time would ever pass."""
    result = Simulation.load(nodes("n1"), pods(1), plugins=[ActivatesEachOther]).run(until=60)
    assert "pod default/pod-0 was tried 1001 times at one moment" in result.stopped
    assert result.summary.seconds == 0.0


class AdmitsLate(PermitPlugin):
    """Lets `late` time out at Permit 1,200 times before it admits the pod."""

    name = "AdmitsLate"
    refusals = 0

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        if pod.name == "late" and AdmitsLate.refusals < 1200:
            AdmitsLate.refusals += 1
            return PermitResult(Status(Code.WAIT), timeout_seconds=20.0)
        return PermitResult(Status(Code.SUCCESS))


def test_a_pod_may_be_retried_a_thousand_times_while_a_job_is_running() -> None:
    AdmitsLate.refusals = 0
    job = a_pod("job", cpu="1").annotation(RUN_SECONDS, "86400").obj()
    result = Simulation.load(nodes("n1"), job, a_pod("late", cpu="1").obj(), plugins=[AdmitsLate]).run()
    assert not result.stopped
    assert result.placements["default/late"].attempts == 1201
    assert result.summary.seconds == 86400.0


def test_a_run_ends_after_an_hour_in_which_pods_are_only_retried() -> None:
    AdmitsLate.refusals = 0
    result = Simulation.load(nodes("n1"), a_pod("late", cpu="1").obj(), plugins=[AdmitsLate]).run()
    assert not result.stopped
    assert list(result.pending) == ["default/late"]
    assert 3600 <= result.summary.seconds < 3700
    assert any("without progress" in note and "default/late" in note for note in result.notes)


class WakesAtOnce(PermitPlugin, EnqueueExtensions):
    """Has pods wait for permission, and rejects all that wait: the room that these give back is an event for the others."""

    name = "WakesAtOnce"

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self._pods = handle.pods

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE))]

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult | Status:
        waiting = list(self._pods.waiting_pods())
        for other in waiting:
            other.reject(self.name, "sibling was rejected")
        if waiting:
            return Status(Code.PENDING, ("waits for its siblings",))
        return PermitResult(Status(Code.WAIT), timeout_seconds=30)


def test_time_that_stands_still_names_the_event_and_the_plugin_that_woke_the_pod() -> None:
    result = Simulation.load(nodes("n1"), pods(2), plugins=[WakesAtOnce]).run(until=60)
    assert 'is woken each time by event AssignedPodDelete, for which plugin "WakesAtOnce"' in result.stopped


def test_time_that_stands_still_names_activation() -> None:
    result = Simulation.load(nodes("n1"), pods(1), plugins=[ActivatesEachOther]).run(until=60)
    assert "a plugin activates it each time" in result.stopped


def test_pods_that_a_taint_evicts_again_and_again_do_not_keep_a_run_going() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [taint]}}
    node["status"] = {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "app"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    result = Simulation.load(node, deployment).run()
    assert result.summary.scheduled == 3
    assert result.summary.decisions == 6
