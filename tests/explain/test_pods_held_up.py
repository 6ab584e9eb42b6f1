# SPDX-License-Identifier: Apache-2.0
"""Pods that are held up after their node was chosen, or whose plugins fail."""

from __future__ import annotations

import pytest
from tests.explain.rejections import node

from steersman import Simulation
from steersman.explain import ExplainOptions, PodState, explain_pod
from steersman.framework import FilterPlugin, PermitHandle, PermitPlugin, PermitResult, Status
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import make_pod


class Patient(PermitPlugin):
    """Lets every pod wait for ten minutes."""

    name = "Patient"

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        return PermitResult(Status(Code.WAIT), timeout_seconds=600.0)


class Fragile(FilterPlugin):
    name = "Fragile"

    def filter(self, pod: PodInfo, node: NodeInfo) -> None:
        raise ValueError("not that one")


class Pairs(PermitPlugin):
    """Lets a pod wait until another one waits too."""

    name = "Pairs"

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self._handle = handle

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult | None:
        waiting = self._handle.pods.waiting_pods()
        if not waiting:
            return PermitResult(Status(Code.WAIT), timeout_seconds=20.0)
        for other in waiting:
            other.allow(self.name)
        return None


class Refusing(PermitPlugin):
    name = "Refusing"

    def permit(self, pod: PodInfo, node_name: str) -> Status:
        return Status(Code.UNSCHEDULABLE, ("the quota is used up",))


@pytest.mark.parametrize(
    ("plugin", "why"), [(Pairs, "waits for permission by Pairs"), (Refusing, "the quota is used up")]
)
def test_a_pod_that_fits_does_not_fit_now_without_permission(plugin: type[PermitPlugin], why: str) -> None:
    with Simulation.load(node("n1").obj(), make_pod("web").obj(), plugins=[plugin]) as simulation:
        answer = explain_pod(simulation, "web", ExplainOptions(loaded=simulation))
    assert (answer.state, answer.cause.code) == (PodState.PENDING, CauseCode.WAITING)
    assert "fits on 1 of 1 node, but would not be bound" in answer.cause.sentence
    assert why in answer.cause.sentence


def test_a_pod_fits_if_pending_pods_together_get_permission() -> None:
    pods = [make_pod(name).obj() for name in ("web", "db")]
    with Simulation.load(node("n1").obj(), *pods, plugins=[Pairs]) as simulation:
        answer = explain_pod(simulation, "web")
    assert answer.state is PodState.FITS


def test_a_pod_that_waits_for_permission_names_its_node_and_the_plugin() -> None:
    with Simulation.load(node("n1").obj(), make_pod("web").obj(), plugins=[Patient]) as simulation:
        simulation.run(until=10)
        answer = explain_pod(simulation, "web")
    assert (answer.state, answer.cause.code) == (PodState.PENDING, CauseCode.WAITING)
    assert (
        answer.cause.sentence
        == "A node is chosen, but the pod is not bound yet: waits for permission by Patient (node n1)."
    )


def test_a_pod_that_waits_for_permission_needs_no_other_attempt() -> None:
    with Simulation.load(node("n1").obj(), make_pod("web").obj(), plugins=[Patient]) as simulation:
        simulation.run(until=10)
        answer = explain_pod(simulation, "web")
    assert answer.when is not None
    assert answer.when.next_attempt == "The pod needs no other attempt, unless a plugin or the binding fails."


def test_a_plugin_that_raises_is_named_as_what_is_broken() -> None:
    with Simulation.load(node("n1").obj(), make_pod("web").obj(), plugins=[Fragile]) as simulation:
        simulation.run()
        answer = explain_pod(simulation, "web")
    assert (answer.state, answer.cause.code) == (PodState.ERROR, CauseCode.ERROR)
    assert "Fragile" in answer.cause.sentence
    assert "not that one" in answer.cause.sentence
