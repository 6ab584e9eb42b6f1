# SPDX-License-Identifier: Apache-2.0
"""A pod whose cycle is postponed keeps nobody waiting, and gets what it would have got at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Store, feed
from steersman.framework.postponement import SlicedWork
from steersman.scheduler.assembly import Scheduler, SchedulerOptions, postponed as postponed_attempts
from steersman.scheduler.cycle.decision import Decision, Failed, Postponed, Scheduled, Unschedulable
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import make_device_class, make_node, make_pod, make_resource_claim, make_slice
from steersman.testing.devices import ResourceClaimBuilder, make_device

DEVICES = 6


class HurriedClock(ManualClock):
    """More time than a cycle has passes whenever somebody looks."""

    def monotonic(self) -> float:
        self.advance(0.021)
        return super().monotonic()


class Cluster:
    """Two nodes with devices and the scheduler, which a test drives step by step."""

    def __init__(self, *, postpones: bool = True, hurried: bool = True) -> None:
        self.clock = HurriedClock(1000.0) if hurried else ManualClock(1000.0)
        self.store = Store(self.clock)
        self._tasks = Tasks(self.clock)
        writer = EmbeddedWriter(self.store, self.clock)
        options = SchedulerOptions(postpones=postpones)
        self.scheduler = Scheduler(self.clock, SeededRng(1), writer, self._tasks.spawn, options)
        feed(self.store, self.scheduler.ingest)
        self.store.create(make_device_class("any").obj())
        for name in "ab":
            self.store.create(make_node(name).capacity(cpu="8", pods=99).obj())
            devices = [make_device(f"d{index}", parity=index % 2) for index in range(DEVICES)]
            self.store.create(make_slice(name).on_node(name).devices(*devices).obj())

    def add(self, name: str, claim: ResourceClaimBuilder | None = None) -> None:
        builder = make_pod(name).req(cpu="100m")
        if claim is not None:
            self.store.create(claim.obj())
            builder = builder.resource_claim(claim.obj().metadata.name)
        self.store.create(builder.obj())

    def settle(self) -> list[Decision]:
        """Until no pod can be tried; bindings are carried out."""
        return list(self._decisions())

    def _decisions(self) -> Iterator[Decision]:
        for _ in range(10_000):
            decision = self.scheduler.schedule_one()
            self._tasks.run_ready()
            if decision is not None:
                yield decision
            elif len(self.scheduler.postponed):
                self.scheduler.postponed.run_slice()
            else:
                return
        raise AssertionError("no end")

    def outcome(self) -> dict[str, object]:
        """Where pods and claims ended up."""
        pods = {key: (pod.spec.node_name, _message(pod)) for key, pod in self.store.objects(api.Pod).items()}
        claims = self.store.objects(api.ResourceClaim).items()
        allocations = {key: c.status.allocation and c.status.allocation.devices.results for key, c in claims}
        return {**pods, **allocations}

    def in_flight(self) -> list[str]:
        return [pod.metadata.name for pod in self.scheduler.queue.in_flight_pods()]


def _message(pod: api.Pod) -> list[str]:
    return [condition.message for condition in pod.status.conditions]


def wanting(name: str, count: int) -> ResourceClaimBuilder:
    return make_resource_claim(name).asks("r", "any", count=count)


def impossible(name: str) -> ResourceClaimBuilder:
    return wanting(name, 3).asks("never", "any", "false")


def test_others_are_scheduled_while_a_pod_waits_for_its_search() -> None:
    cluster = Cluster()
    cluster.add("slow", wanting("c", 4))
    assert isinstance(cluster.scheduler.schedule_one(), Postponed)
    assert cluster.in_flight() == ["slow"]
    cluster.add("quick")
    quick = cluster.scheduler.schedule_one()
    assert isinstance(quick, Scheduled)
    assert quick.pod.name == "quick"
    slow = cluster.settle()[-1]
    assert isinstance(slow, Scheduled)
    assert slow.pod.name == "slow"
    assert cluster.in_flight() == []
    cluster.scheduler.queue.validate_state()
    cluster.scheduler.cache.validate_state()


claims = st.lists(
    st.tuples(
        st.integers(1, 5), st.sampled_from(("true", "false", "device.attributes['gpu.example.com'].parity == 1"))
    ),
    min_size=1,
    max_size=2,
)


@examples(30)
@given(st.lists(claims, min_size=1, max_size=5))
def test_pods_end_up_where_they_would_without_postponing(pods: list[list[tuple[int, str]]]) -> None:
    outcomes = []
    for cluster in (Cluster(), Cluster(postpones=False, hurried=False)):
        for index, requests in enumerate(pods):
            claim = make_resource_claim(f"c{index}")
            for position, (count, selector) in enumerate(requests):
                claim = claim.asks(f"r{position}", "any", selector, count=count)
            cluster.add(f"p{index}", claim)
            cluster.settle()
        outcomes.append(cluster.outcome())
    assert outcomes[0] == outcomes[1]


def test_a_pod_that_is_deleted_ends_its_search() -> None:
    cluster = Cluster()
    cluster.add("slow", impossible("c"))
    assert isinstance(cluster.scheduler.schedule_one(), Postponed)
    cluster.store.delete(api.Pod, "default/slow")
    assert cluster.settle() == []
    assert cluster.in_flight() == []
    assert len(cluster.scheduler.postponed) == 0


def test_an_event_during_the_search_is_kept_for_the_pod() -> None:
    cluster = Cluster()
    cluster.add("slow", impossible("c"))
    assert isinstance(cluster.scheduler.schedule_one(), Postponed)
    cluster.store.create(make_node("c").capacity(cpu="8", pods=99).obj())
    refusals = [decision for decision in cluster.settle() if isinstance(decision, Unschedulable)]
    assert ["0/2 nodes" in one.message or "0/3 nodes" in one.message for one in refusals] == [True, True]


def test_with_too_many_attempts_the_one_that_used_most_fails_and_is_tried_again_later() -> None:
    cluster = Cluster()
    for index in range(postponed_attempts.MAX_ATTEMPTS + 1):
        cluster.add(f"p{index:02}", impossible(f"c{index}"))
    decisions = [cluster.scheduler.schedule_one()]
    cluster.scheduler.postponed.run_slice()
    decisions += [cluster.scheduler.schedule_one() for _ in range(postponed_attempts.MAX_ATTEMPTS)]
    assert all(isinstance(decision, Postponed) for decision in decisions)
    assert len(cluster.scheduler.postponed) == postponed_attempts.MAX_ATTEMPTS
    assert cluster.scheduler.queue.statistics().error_backoff == 1
    [message] = _message(cluster.store.get(api.Pod, "default/p00"))
    assert message.startswith("scheduling attempt was abandoned after 0.")


def test_an_attempt_does_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postponed_attempts, "ATTEMPT_SECONDS", 0.5)
    cluster = Cluster()
    cluster.add("slow", impossible("c"))
    cluster.settle()
    assert _message(cluster.store.get(api.Pod, "default/slow")) == [
        "scheduling attempt was abandoned: the work it waited for took more than 0.5 s"
    ]
    assert cluster.scheduler.queue.statistics().error_backoff == 1


def test_work_that_breaks_fails_the_attempt_and_nothing_else() -> None:
    cluster = Cluster()
    cluster.add("slow", impossible("c"))
    decision = cluster.scheduler.schedule_one()
    assert isinstance(decision, Postponed)
    decision.work.close()
    broken = Postponed(decision.pod, decision.profile, _breaking())
    [attempt] = cluster.scheduler.postponed._working.values()
    attempt.latest = broken
    cluster.scheduler.postponed.run_slice()
    assert _message(cluster.store.get(api.Pod, "default/slow")) == [
        "scheduling attempt was abandoned: the work it waited for failed: ZeroDivisionError: no reason"
    ]


def test_when_the_host_stops_nothing_stays_in_flight() -> None:
    cluster = Cluster()
    cluster.add("slow", impossible("c"))
    assert isinstance(cluster.scheduler.schedule_one(), Postponed)

    async def run_and_stop() -> None:
        task = asyncio.create_task(cluster.scheduler.postponed.run())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run_and_stop())
    assert cluster.in_flight() == []
    assert len(cluster.scheduler.postponed) == 0


def test_a_host_that_does_not_postpone_decides_at_once() -> None:
    cluster = Cluster(postpones=False)
    cluster.add("slow", impossible("c"))
    assert isinstance(cluster.scheduler.schedule_one(), Unschedulable | Failed)


def _breaking() -> SlicedWork:
    raise ZeroDivisionError("no reason")
    yield
