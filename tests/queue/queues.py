# SPDX-License-Identifier: Apache-2.0
"""A queue for tests: one profile, a clock that is moved by hand, and plugins that do what the test says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.internal_errors import InternalErrors
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, HintFn
from steersman.framework.status import Status, unschedulable
from steersman.scheduler.plugins.priority_sort import PrioritySort
from steersman.scheduler.queue import (
    Place,
    QueuedPodGroup,
    QueuedPodInfo,
    QueueProfile,
    QueueSettings,
    SchedulingQueue,
    SortKey,
)

PROFILE = "default-scheduler"
#: A whole second, as ends of backoff are.
START = 1000.0

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
POD_LABEL = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)


class Gate:
    """A PreEnqueue plugin that holds back the pods it is told to; it counts how often it is asked."""

    def __init__(self, name: str = "Gate", holds: Iterable[str] = ()) -> None:
        self.name = name
        self.held_names = set(holds)
        self.asked = 0

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        self.asked += 1
        return unschedulable("held back") if pod.metadata.name in self.held_names else None


def row(plugin: str, event: ClusterEvent, hint: HintFn | None = None) -> tuple[str, ClusterEventWithHint]:
    return plugin, ClusterEventWithHint(event, hint)


class QueueUnderTest:
    """A queue with its clock and the pods that the API server would show."""

    def __init__(
        self,
        *rows: tuple[str, ClusterEventWithHint],
        gates: Iterable[Gate] = (),
        settings: QueueSettings | None = None,
        profiles: Mapping[str, QueueProfile] | None = None,
        sort_key: SortKey | None = None,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self.clock = ManualClock(START)
        self.store: dict[str, api.Pod] = {}
        self.queue = SchedulingQueue(
            profiles if profiles is not None else {PROFILE: QueueProfile(tuple(gates), rows)},
            sort_key or PrioritySort().sort_key,
            self.clock,
            settings or QueueSettings(),
            pod_lookup=self.store.get,
            internal_errors=internal_errors,
        )

    def add(self, *pods: api.Pod) -> None:
        """Add pods one millisecond after the other."""
        for pod in pods:
            self.clock.advance(0.001)
            self.store[api.key(pod)] = pod
            self.queue.add(pod)

    def update(self, new: api.Pod) -> None:
        old = self.store[api.key(new)]
        self.store[api.key(new)] = new
        self.queue.update(old, new)

    def pop(self) -> QueuedPodInfo:
        queued = self.queue.pop_nowait()
        assert isinstance(queued, QueuedPodInfo)
        return queued

    def pop_group(self) -> QueuedPodGroup:
        queued = self.queue.pop_nowait()
        assert isinstance(queued, QueuedPodGroup)
        return queued

    def fail(self, queued: QueuedPodInfo, *plugins: str, pending: Iterable[str] = ()) -> None:
        """End the pod's attempt; without plugins it ends with an error."""
        queued.record_attempt(plugins, pending)
        self.queue.add_unschedulable_if_not_present(queued)

    def add_rejected(self, pod: api.Pod, *plugins: str, pending: Iterable[str] = ()) -> QueuedPodInfo:
        """Add a pod and let its first attempt fail; nothing else may be poppable."""
        self.add(pod)
        queued = self.pop()
        self.fail(queued, *plugins, pending=pending)
        return queued

    def place(self, name: str) -> Place:
        """Where the pod of that name is queued; OUTSIDE if it is not."""
        queued = self.queue.get(f"default/{name}")
        return Place.OUTSIDE if queued is None else queued.place

    def pop_all(self) -> list[str]:
        """Names of the pods in the order of their pops; nothing is left."""
        names: list[str] = []
        while (queued := self.queue.pop_nowait()) is not None:
            names.append(queued.pod.metadata.name)
            self.queue.done(queued.uid)
        return names
