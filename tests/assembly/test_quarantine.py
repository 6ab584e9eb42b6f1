# SPDX-License-Identifier: Apache-2.0
"""A pod that trips a programming error fails like any other; nothing of its attempt is left, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import pytest

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.internal_errors import InternalErrors
from steersman.cluster.store import KubeAdmission, Store
from steersman.config import default_configuration
from steersman.framework import Code, FilterPlugin, PermitPlugin, PermitResult, Status
from steersman.framework.columns import ColumnarFilter, FilterKernel, StatusTable
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import NodesView
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.assembly.registry import register, with_enabled
from steersman.scheduler.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.cycle.diagnosis import NO_NODES_MESSAGE
from steersman.scheduler.engine.signatures import Signatures
from steersman.scheduler.queue import QueuedPodInfo
from steersman.scheduler.queue.backoff import BackoffQueue
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.cache import Cache
from steersman.simulation.virtual_time.driver import Driver
from steersman.testing import Harness, PodBuilder, make_node, make_pod


class Torn(RuntimeError):
    """Stands for a programming error."""


class WaitsForever(PermitPlugin):
    """Asks for a time that is none."""

    name = "WaitsForever"

    def permit(self, pod: PodInfo, node: str) -> PermitResult | None:
        return PermitResult(Status(Code.WAIT), timeout_seconds="soon") if pod.name == "broken" else None  # type: ignore[arg-type]


class Survivor:
    """A scheduler on an embedded cluster that survives programming errors."""

    def __init__(self, plugins: Sequence[type[Plugin]] = (), *, survives: bool = True) -> None:
        self.errors = InternalErrors()
        registry, names = register(plugins)
        clock = ManualClock()
        self.store = Store(clock, admission=KubeAdmission())
        options = SchedulerOptions(
            with_enabled(default_configuration(), names),
            registry=registry,
            internal_errors=self.errors if survives else None,
        )
        self.driver = Driver(self.store, clock, 0, options)
        self.scheduler = self.driver.scheduler
        self.store.create(make_node("n1").capacity(cpu="8", pods="10").obj())

    def schedule(self, *pods: PodBuilder) -> list[Decision]:
        for pod in pods:
            self.store.create(pod.obj())
        decisions: list[Decision] = []
        while (decision := self.scheduler.schedule_one()) is not None:
            decisions.append(decision)
        return decisions

    def expect_nothing_left(self) -> None:
        self.scheduler.cache.validate_state()
        self.scheduler.queue.validate_state()
        assert self.scheduler.queue.in_flight_pods() == []
        assert self.scheduler.cache.get("broken") is None
        assert list(self.scheduler.waiting_pods) == []
        queued = self.scheduler.queue.get("default/broken")
        assert queued is not None
        assert queued.rejectors == frozenset(), "it waits as after an error"


BROKEN = make_pod("broken").uid("broken").req(cpu="1")
WEB = make_pod("web").req(cpu="1")

Breaking = Callable[[pytest.MonkeyPatch, Survivor], None]


def _torn_for_broken(working: Callable[..., object]) -> Callable[..., object]:
    def call(*given: object) -> object:
        if any(getattr(one, "name", "") == "broken" for one in given):
            raise Torn
        return working(*given)

    return call


def _breaks_evaluation(patch: pytest.MonkeyPatch, survivor: Survivor) -> None:
    patch.setattr(Signatures, "get", _torn_for_broken(Signatures.get))


def _breaks_assume(patch: pytest.MonkeyPatch, survivor: Survivor) -> None:
    patch.setattr(Cache, "assume", _torn_for_broken(Cache.assume))


def _breaks_binding(patch: pytest.MonkeyPatch, survivor: Survivor) -> None:
    bind_now = survivor.scheduler.binding.bind_now

    def torn(queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        if decision.pod.name == "broken":
            raise Torn
        bind_now(queued, decision, profile)

    patch.setattr(survivor.scheduler.binding, "bind_now", torn)


@pytest.mark.parametrize("breaks", [_breaks_evaluation, _breaks_assume, _breaks_binding])
def test_an_attempt_that_breaks_off_fails_the_pod_alone(breaks: Breaking, monkeypatch: pytest.MonkeyPatch) -> None:
    survivor = Survivor()
    with monkeypatch.context() as patch:
        breaks(patch, survivor)
        broken, web = survivor.schedule(BROKEN, WEB)
    assert isinstance(web, Scheduled)
    assert broken.pod.name == "broken"
    survivor.expect_nothing_left()
    assert survivor.errors.counts.total() == 1
    assert "internal error: Torn" in _condition(survivor)
    survivor.driver.run()
    assert survivor.scheduler.cache.pod_count == 2, "once the error is gone, the pod is bound"


def test_a_permit_plugin_that_answers_nonsense_fails_the_pod_alone() -> None:
    survivor = Survivor([WaitsForever])
    broken, web = survivor.schedule(BROKEN, WEB)
    assert isinstance(broken, Failed)
    assert isinstance(web, Scheduled)
    survivor.expect_nothing_left()


def test_an_error_after_the_binding_leaves_the_pod_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    survivor = Survivor()
    monkeypatch.setattr(survivor.driver.writer, "report_scheduled", _torn_for_broken(lambda *given: None))
    broken, web = survivor.schedule(BROKEN, WEB)
    assert isinstance(broken, Scheduled)
    assert isinstance(web, Scheduled)
    assert survivor.errors.counts == {"binding": 1}
    assert survivor.scheduler.cache.pod_count == 2
    assert survivor.scheduler.cache.assumed_count == 0


def test_without_a_place_to_report_to_the_error_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    survivor = Survivor(survives=False)
    _breaks_evaluation(monkeypatch, survivor)
    with pytest.raises(Torn):
        survivor.schedule(BROKEN)


def test_a_pod_that_the_queue_lost_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    survivor = Survivor()
    with monkeypatch.context() as patch:
        _breaks_evaluation(patch, survivor)
        patch.setattr(BackoffQueue, "add", _always_torn)
        survivor.schedule(BROKEN)
    assert survivor.scheduler.queue.get("default/broken") is None
    survivor.scheduler.requeue_lost_pods()
    assert survivor.scheduler.queue.get("default/broken") is not None
    survivor.expect_nothing_left()
    survivor.driver.run()
    assert survivor.scheduler.cache.pod_count == 1
    survivor.scheduler.requeue_lost_pods()
    assert survivor.schedule() == [], "nobody else is lost"


def _always_torn(*given: object) -> None:
    raise Torn


def _condition(survivor: Survivor) -> str:
    pod = survivor.store.get(api.Pod, "default/broken")
    return next(one.message for one in pod.status.conditions if one.type == "PodScheduled")


class NeedsNodes(FilterPlugin, ColumnarFilter):
    """Makes its kernel of the nodes that there are."""

    name = "NeedsNodes"

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        return ()

    def filter_kernel(self, pod: PodInfo, nodes: NodesView) -> FilterKernel | None:
        if not nodes.alive.any():
            raise Torn
        return None


def test_no_plugin_is_asked_where_there_are_no_nodes() -> None:
    harness = Harness(plugins=[NeedsNodes])
    harness.add(WEB)
    decision = harness.scheduler.schedule_one()
    assert isinstance(decision, Unschedulable)
    assert decision.message == NO_NODES_MESSAGE
