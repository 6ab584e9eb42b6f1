# SPDX-License-Identifier: Apache-2.0
"""The queue and its slow, simple twin agree about every pod after every operation."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.equivalence.examples import search
from tests.queue import plain_queue
from tests.queue.plain_queue import PlainPod, PlainQueue

from steersman import api
from steersman.base.clock import ManualClock
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.framework.status import Status, unschedulable
from steersman.scheduler.plugins.priority_sort import PrioritySort
from steersman.scheduler.queue import (
    MICROSECONDS,
    Place,
    PodAlreadyQueuedError,
    QueuedPodInfo,
    QueueProfile,
    QueueSettings,
    SchedulingQueue,
)
from steersman.testing import make_pod

EVENTS = {
    plain_queue.NODE_ADD: ClusterEvent(EventResource.NODE, ActionType.ADD),
    plain_queue.NODE_LABEL: ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL),
    plain_queue.POD_LABEL: ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL),
    "NodeTaint": ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT),
}
PLACES = {
    "active": Place.ACTIVE,
    "backoff": Place.BACKOFF,
    "error backoff": Place.ERROR_BACKOFF,
    "unschedulable": Place.UNSCHEDULABLE,
}
NAMES = st.sampled_from("abcdef")
PRIORITIES = st.integers(0, 2)
REJECTORS = st.sets(st.sampled_from(["Fit", "Affinity", "Stubborn"]), max_size=2)
PENDING = st.sets(st.sampled_from(["Claims"]), max_size=1)


class QueueAgainstModel(RuleBasedStateMachine):
    """Does everything twice."""

    @initialize()
    def start(self) -> None:
        self.clock = ManualClock(7.0)
        self.model = PlainQueue()
        self.model.now = 7.0
        self.pods: dict[str, api.Pod] = {}
        self.popped: dict[str, QueuedPodInfo] = {}
        self.created = 0
        rows = [
            (plugin, ClusterEventWithHint(EVENTS[event]))
            for plugin, events in plain_queue.REGISTERED.items()
            for event in sorted(events)
        ]
        self.queue = SchedulingQueue(
            {"default-scheduler": QueueProfile([self], rows)},
            PrioritySort().sort_key,
            self.clock,
            QueueSettings(plain_queue.INITIAL_BACKOFF, plain_queue.MAX_BACKOFF, plain_queue.MAX_STAY),
        )

    name = "Gate"

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        return unschedulable("held back") if pod.metadata.name in self.model.held_back else None

    def tick(self, seconds: float = 0.125) -> None:
        """Exact in binary, so that both sides calculate the same."""
        self.clock.advance(seconds)
        self.model.now += seconds

    @rule(name=NAMES, priority=PRIORITIES)
    def add(self, name: str, priority: int) -> None:
        self.tick()
        self.created += 1
        pod = make_pod(name).uid(f"{name}{self.created}").priority(priority).obj()
        self.pods[name] = pod
        self.queue.add(pod)
        self.model.add(name, pod.metadata.uid, priority)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), priority=PRIORITIES, relabel=st.booleans())
    def update(self, data: st.DataObject, priority: int, relabel: bool) -> None:
        self.tick()
        name = data.draw(st.sampled_from(sorted(self.pods)))
        old = self.pods[name]
        self.created += 1
        changed = make_pod(name).uid(old.metadata.uid).priority(priority).labels(old.metadata.labels)
        new = (changed.label("version", str(self.created)) if relabel else changed).obj()
        event = plain_queue.POD_LABEL if relabel else plain_queue.POD_UPDATE
        if new.metadata.uid in self.model.in_flight:
            self.model.miss(event, None)
        elif name in self.model.queued:
            self.model.update(name, new.metadata.uid, priority, event)
        else:
            self.model.add(name, new.metadata.uid, priority)
        self.pods[name] = new
        self.queue.update(old, new)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        self.tick()
        name = data.draw(st.sampled_from(sorted(self.pods)))
        self.queue.delete(self.pods.pop(name))
        self.model.delete(name)

    @rule()
    def pop(self) -> None:
        self.tick()
        queued, expected = self.queue.pop_nowait(), self.model.pop()
        assert (queued and queued.uid) == (expected and expected.uid)
        if isinstance(queued, QueuedPodInfo):
            self.popped[queued.uid] = queued

    @precondition(lambda self: self.popped)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.popped)))
        del self.popped[uid]
        self.queue.done(uid)
        self.model.done(uid)

    @precondition(lambda self: self.popped)
    @rule(data=st.data(), rejectors=REJECTORS, pending=PENDING)
    def fail(self, data: st.DataObject, rejectors: set[str], pending: set[str]) -> None:
        self.tick()
        uid = data.draw(st.sampled_from(sorted(self.popped)))
        queued = self.popped.pop(uid)
        queued.record_attempt(rejectors, pending)
        try:
            self.queue.add_unschedulable_if_not_present(queued)
            came_back = True
        except PodAlreadyQueuedError:
            came_back = False
        assert came_back == self.model.fail(uid, rejectors, pending)

    @rule(event=st.sampled_from(sorted(EVENTS)))
    def event(self, event: str) -> None:
        self.tick()
        self.queue.move_all(EVENTS[event])
        self.model.event(event)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        self.tick()
        pod = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        self.queue.activate([pod])
        self.model.activate(pod.metadata.name, pod.metadata.uid)

    @rule(name=NAMES)
    def close_or_open_gate(self, name: str) -> None:
        self.model.held_back ^= {name}

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.25, 30.0, 60.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.tick(seconds)

    @rule()
    def flush_backoff(self) -> None:
        self.tick()
        self.queue.flush_backoff()
        self.model.flush_backoff()

    @rule()
    def flush_unschedulable(self) -> None:
        self.tick()
        self.queue.flush_unschedulable()
        self.model.flush_unschedulable()

    @invariant()
    def the_queue_does_not_contradict_itself(self) -> None:
        self.queue.validate_state()

    @invariant()
    def both_have_the_same_pods_in_the_same_places_and_order(self) -> None:
        contents = self.queue.contents()
        assert [queued.uid for queued in contents.active] == [pod.uid for pod in self.model.active_order()]
        assert [queued.uid for queued in contents.backoff] == [pod.uid for pod in self.model.backoff_order()]
        assert {pod.metadata.uid for pod in self.queue.in_flight_pods()} == set(self.model.in_flight)
        queued_pods = [*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable]
        assert {queued.pod.metadata.name for queued in queued_pods} == set(self.model.queued)
        for queued in queued_pods:
            assert_same(queued, self.model.queued[queued.pod.metadata.name])


def assert_same(queued: QueuedPodInfo, plain: PlainPod) -> None:
    assert queued.uid == plain.uid
    assert queued.place is PLACES[plain.place]
    assert queued.is_gated == plain.is_gated
    assert (set(queued.unschedulable_plugins), set(queued.pending_plugins)) == (plain.rejected_by, plain.pending_on)
    assert (queued.unschedulable_count, queued.consecutive_errors) == (plain.rejections, plain.errors)
    assert queued.timestamp == plain.since * MICROSECONDS
    if plain.backoff_until >= 0:
        assert queued.backoff_until == plain.backoff_until * MICROSECONDS


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = search(60, stateful_step_count=60)
