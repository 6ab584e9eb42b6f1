"""The scheduling queue: all pods that want a node, and the rules for when each of them is tried next.

Pods come in from `ingest` (add, update, delete) and from the end of failed attempts; cluster events come in from `ingest`
and wake waiting pods; the scheduling cycle pops. The queue does no I/O and has no tasks of its own: a driver calls the
two flushes (on a timer, or at `next_wakeup`) and waits for `on_ready` when there is nothing to pop.

The rules live in the neighbours: `requeue` (where a pod goes), `hints` (which events wake it), `pre_enqueue` (what holds
it back), `backoff` (how long it waits), `in_flight` (what it missed while it was being tried).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from steersman import api
from steersman.clock import Clock
from steersman.framework.events import (
    ASSIGNED_POD_ADD,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ActionType,
    ClusterEvent,
    EventResource,
    pod_update_events,
)
from steersman.queue.active import ActiveQueue
from steersman.queue.backoff import BackoffQueue
from steersman.queue.contents import PendingPods, QueueContents, QueueStatistics
from steersman.queue.cross_topology import may_be_helped
from steersman.queue.heap import SortKey
from steersman.queue.hints import HintTable, Interest, Strategy
from steersman.queue.in_flight import InFlight
from steersman.queue.metrics import CountingQueueMetrics, QueueMetrics
from steersman.queue.nominator import Nominator, PodLookup
from steersman.queue.order import priority_sort_key
from steersman.queue.pre_enqueue import PreEnqueueGate
from steersman.queue.profile import QueueProfile
from steersman.queue.queued_pod import MICROSECONDS, NEVER, Place, QueuedPodInfo
from steersman.queue.requeue import Requeuer
from steersman.queue.unschedulable import UnschedulablePods

logger = logging.getLogger(__name__)

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE: Final = "PopFromBackoffQ"
_POP: Final = "Pop"
_DONE: Final = "Done"
_CLOSE: Final = "Close"
_SCALE_DOWN: Final = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)

NamespaceLabels = Callable[[str], Mapping[str, str]]
"""The labels of the namespace with the given name; none if there is no such namespace."""


class PodAlreadyQueuedError(RuntimeError):
    """A failed pod was to be put back, but the queue already has a pod of that name."""


class QueueInvariantError(AssertionError):
    """`validate_state` found the queue in a state that cannot be."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Durations in seconds, from the configuration."""

    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    """0 switches backoff off."""
    max_in_unschedulable: float = 300.0
    """A pod that has been unschedulable for longer is tried again without a reason."""


class SchedulingQueue:
    """The facade over activeQ, backoffQ, the unschedulable pods and the pods in flight."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        clock: Clock,
        settings: QueueSettings = QueueSettings(),
        *,
        sort_key: SortKey = priority_sort_key,
        pod_lookup: PodLookup | None = None,
        namespace_labels: NamespaceLabels = lambda namespace: {},
        metrics: QueueMetrics | None = None,
    ) -> None:
        self.metrics: QueueMetrics = metrics if metrics is not None else CountingQueueMetrics()
        self.nominator = Nominator(pod_lookup)
        #: Called after something became poppable, or the queue was closed; a waiting driver sets it.
        self.on_ready: Callable[[], None] = _nobody_waits
        #: After `close` a driver stops waiting for pods.
        self.is_closed = False
        #: How many pods were popped.
        self.scheduling_cycle = 0
        self._clock = clock
        self._namespace_labels = namespace_labels
        self._serial = 0
        self._hints = HintTable(profiles)
        self._active = ActiveQueue(sort_key, self.metrics)
        self._backoff = BackoffQueue(
            _microseconds(settings.initial_backoff), _microseconds(settings.max_backoff), sort_key, self.metrics
        )
        self._unschedulable = UnschedulablePods(
            _microseconds(settings.max_in_unschedulable), profiles.keys(), self.metrics
        )
        self._in_flight = InFlight()
        gate = PreEnqueueGate(profiles, self.metrics)
        self._requeuer = Requeuer(self._active, self._backoff, self._unschedulable, gate, self.nominator)

    # Pods of the API server

    def add(self, pod: api.Pod) -> None:
        """A pod without a node has appeared."""
        self._add(pod, UNSCHEDULED_POD_ADD.label)

    def update(self, old: api.Pod, new: api.Pod) -> None:
        """A pod without a node has changed."""
        if new.metadata.uid in self._in_flight:
            # It will come back with the newest version, if at all; only the reason to try again must not get lost.
            for event in pod_update_events(old, new):
                self._in_flight.record(event, old, new)
            return
        queued = self.get(api.key(new))
        if queued is None:
            self._add(new, UNSCHEDULED_POD_UPDATE.label)
            return
        queued.replace_pod(new)
        self.nominator.update(old, new)
        if queued.place is Place.ACTIVE:
            self._active.pods.add(queued)
        elif queued.place is Place.UNSCHEDULABLE:
            self._requeue_updated(queued, old, new)
        else:
            self._backoff.reposition(queued)

    def delete(self, pod: api.Pod) -> None:
        """A pod is gone, or has a node."""
        self.nominator.remove(pod)
        key = api.key(pod)
        queued = self._active.pods.remove(key) or self._backoff.remove(key)
        if queued is None:
            queued = self._unschedulable.remove(key)
            if queued is None:
                return
            self._count_rejections(queued, -1)
        queued.move_to(Place.OUTSIDE, UNSCHEDULED_POD_DELETE.label)

    # Attempts

    def pop_nowait(self) -> QueuedPodInfo | None:
        """Take the pod that is to be tried next; None if there is none."""
        while True:
            event = _POP
            queued = self._active.pods.pop()
            if queued is None:
                queued = self._backoff.rejected.pop()
                if queued is None:
                    return None
                event = POP_FROM_BACKOFF_QUEUE
                self.metrics.pod_entered("active", event)
            if self._start_flight(queued, event):
                return queued

    def pop_specific(self, pod: api.Pod) -> QueuedPodInfo | None:
        """Take exactly this pod, as if it had been activated and its turn had come; None if it is not in the queue."""
        self._activate(pod)
        queued = self._active.pods.remove(api.key(pod))
        return queued if queued is not None and self._start_flight(queued, _POP) else None

    def done(self, uid: str) -> None:
        """An attempt has ended for good; to be called for every popped pod that is not put back."""
        self._in_flight.done(uid, _DONE)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo) -> None:
        """Put back a pod whose attempt failed, after `record_attempt`. Includes `done`, whatever happens."""
        try:
            self._require_absent(queued.key)
            now = self._now()
            self._note_failure(queued, now)
            strategy = self._strategy_after_flight(queued)
            if self._requeuer.requeue(queued, strategy, SCHEDULE_ATTEMPT_FAILURE, now):
                self.on_ready()
        finally:
            self.done(queued.uid)

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Move waiting pods to activeQ at once; a pod in flight will be tried again when it comes back."""
        ready = False
        for pod in pods:
            if self._activate(pod):
                ready = True
            elif pod.metadata.uid in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)
        if ready:
            self.on_ready()

    # Cluster events

    def move_all(
        self,
        event: ClusterEvent,
        old: object = None,
        new: object = None,
        pre_check: Callable[[api.Pod], bool] | None = None,
    ) -> None:
        """Something happened: move the waiting pods that it may help, and remember it for those in flight."""
        self._move(event, old, new, None if pre_check is None else lambda queued: pre_check(queued.pod))

    def assigned_pod_added(self, pod: api.Pod) -> None:
        """A pod got a node; move only the pods that want to be near it or are spread relative to it."""
        self._move_helped(ASSIGNED_POD_ADD, None, pod)

    def assigned_pod_updated(self, old: api.Pod, new: api.Pod, event: ClusterEvent) -> None:
        """As `assigned_pod_added`, for one event of an update; freed resources may help anybody."""
        if _SCALE_DOWN.matches(event):
            self._move(event, old, new, None)
        else:
            self._move_helped(event, old, new)

    # Time

    def flush_backoff(self) -> None:
        """Move the pods whose backoff is over to activeQ; due every second."""
        now = self._now()
        ready = False
        for queued in self._backoff.pop_completed(now):
            self._requeuer.from_backoff_to_active(queued, BACKOFF_COMPLETE, now)
            ready = True
        if ready:
            self.on_ready()

    def flush_unschedulable(self) -> None:
        """Move the pods that have been unschedulable for too long; due every 30 seconds."""
        now = self._now()
        overdue = self._unschedulable.take_overdue(now)
        for queued in overdue:
            queued.was_flushed = True
            queued.flushed_at = now
        if overdue:
            self._wake(overdue, self._hints.interest(UNSCHEDULABLE_TIMEOUT), None, None)

    def next_wakeup(self) -> float | None:
        """The earliest monotonic time at which a flush will change something; None if nothing waits for time."""
        moments = [
            moment
            for moment in (self._backoff.next_completion(), self._unschedulable.next_overdue())
            if moment is not None
        ]
        return min(moments) / MICROSECONDS if moments else None

    def close(self) -> None:
        """End of service: what is in flight is forgotten, what is queued can still be popped."""
        self._in_flight.clear(_CLOSE)
        self.is_closed = True
        self.on_ready()

    # Nominations

    def add_nominated_pod(self, pod: api.Pod, node_name: str | None = None) -> None:
        """Replace the pod's nomination by the given node, or, without one, by what its status says."""
        self.nominator.add(pod, node_name)

    def delete_nominated_pod_if_exists(self, pod: api.Pod) -> None:
        self.nominator.remove(pod)

    def nominated_pods_for_node(self, node_name: str) -> list[api.Pod]:
        """The pods nominated to a node, oldest nomination first; one that is not queued is a bare reference."""
        refs = self.nominator.for_node(node_name)
        return [queued.pod if (queued := self.get(ref.key)) is not None else ref.bare_pod() for ref in refs]

    # Views

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with that `namespace/name`, if it is in one of the sub-queues."""
        return self._active.pods.get(key) or self._backoff.get(key) or self._unschedulable.pods.get(key)

    def in_flight_pods(self) -> list[api.Pod]:
        return [queued.pod for queued in self._in_flight]

    def pending_pods(self) -> PendingPods:
        """Every pod that waits for an attempt, and how many wait where."""
        queues = (self._active.pods, self._backoff.rejected, self._backoff.failed, self._unschedulable.pods)
        pods = [queued.pod for queue in queues for queued in queue]
        active, backoff, unschedulable = len(self._active.pods), len(self._backoff), len(self._unschedulable.pods)
        return PendingPods(pods, f"activeQ:{active}; backoffQ:{backoff}; unschedulablePods:{unschedulable}")

    def statistics(self) -> QueueStatistics:
        return QueueStatistics(
            active=len(self._active.pods),
            backoff=len(self._backoff.rejected),
            error_backoff=len(self._backoff.failed),
            unschedulable=len(self._unschedulable.pods) - len(self._unschedulable.gated),
            gated=len(self._unschedulable.gated),
            in_flight=len(self._in_flight),
            in_flight_events=self._in_flight.event_count,
            nominated=len(self.nominator),
            scheduling_cycle=self.scheduling_cycle,
        )

    def contents(self) -> QueueContents:
        return QueueContents(
            active=self._active.pods.ordered(),
            backoff=self._backoff.rejected.ordered(),
            error_backoff=self._backoff.failed.ordered(),
            unschedulable=self._unschedulable.pods.ordered(),
            in_flight=self._in_flight.log(),
        )

    def validate_state(self) -> None:
        """Raise if the queue contradicts itself; slow, for tests and debugging."""
        problems = [
            *self._active.problems(),
            *self._backoff.problems(),
            *self._unschedulable.problems(),
            *self._in_flight.problems(),
            *self.nominator.problems(),
            *self._pods_in_two_places(),
        ]
        if problems:
            raise QueueInvariantError("; ".join(problems))

    def _pods_in_two_places(self) -> Iterator[str]:
        queues = (self._active.pods, self._backoff.rejected, self._backoff.failed, self._unschedulable.pods)
        counts = Counter(queued.key for queue in queues for queued in queue)
        return (f"{key} is in {found} sub-queues" for key, found in counts.items() if found > 1)

    # The parts of the operations above

    def _now(self) -> int:
        return _microseconds(self._clock.monotonic())

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _add(self, pod: api.Pod, event: str) -> None:
        now = self._now()
        if self._requeuer.to_active(QueuedPodInfo(pod, now, self._next_serial()), event, now):
            self.on_ready()

    def _requeue_updated(self, queued: QueuedPodInfo, old: api.Pod, new: api.Pod) -> None:
        now = self._now()
        for event in pod_update_events(old, new):
            strategy = self._hints.interest(event).strategy(queued, old, new)
            if self._requeuer.requeue(queued, strategy, event.label, now):
                self.on_ready()
                return

    def _start_flight(self, queued: QueuedPodInfo, event: str) -> bool:
        """Hand a pod out, unless an object with its UID already is: the newer one is dropped then."""
        queued.attempts += 1
        if queued.uid in self._in_flight:
            logger.error("Pod %s is dropped: it is already being scheduled", queued.key)
            queued.move_to(Place.OUTSIDE, event)
            return False
        self._in_flight.add(queued, event)
        self.scheduling_cycle += 1
        self._count_rejections(queued, -1)
        return True

    def _require_absent(self, key: str) -> None:
        if key in self._unschedulable.pods:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in unschedulable queue")
        if key in self._active.pods:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the active queue")
        if key in self._backoff:
            raise PodAlreadyQueuedError(f"Pod {key} is already present in the backoff queue")

    def _note_failure(self, queued: QueuedPodInfo, now: int) -> None:
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp = now
        queued.serial = self._next_serial()
        queued.backoff_until = self._backoff.end_of_backoff(queued)
        queued.was_flushed = False
        queued.flushed_at = NEVER
        self._count_rejections(queued, 1)

    def _strategy_after_flight(self, queued: QueuedPodInfo) -> Strategy:
        if not queued.rejectors or queued.uid not in self._in_flight:
            return Strategy.AFTER_BACKOFF
        return self._hints.strategy_after_flight(queued, self._in_flight.events_since_pop(queued.uid))

    def _count_rejections(self, queued: QueuedPodInfo, by: int) -> None:
        for plugin in queued.rejectors:
            self.metrics.rejection_changed(plugin, queued.profile, by)

    def _activate(self, pod: api.Pod) -> bool:
        key = api.key(pod)
        now = self._now()
        queued = self._unschedulable.pods.get(key)
        if queued is not None:
            return self._requeuer.to_active(queued, FORCE_ACTIVATE.label, now)
        queued = self._backoff.remove(key)
        if queued is None:
            return False
        self._requeuer.from_backoff_to_active(queued, FORCE_ACTIVATE.label, now)
        return True

    def _move_helped(self, event: ClusterEvent, old: object, new: api.Pod) -> None:
        labels = self._namespace_labels(new.metadata.namespace)
        self._move(event, old, new, lambda queued: may_be_helped(queued, new, labels))

    def _move(
        self, event: ClusterEvent, old: object, new: object, admits: Callable[[QueuedPodInfo], bool] | None
    ) -> None:
        interest = self._hints.interest(event)
        if not interest:
            return
        waiting = self._unschedulable
        concerned = list(waiting.pods) if interest.is_wildcard else waiting.concerned(interest.plugins)
        self._wake(concerned if admits is None else filter(admits, concerned), interest, old, new)

    def _wake(self, pods: Iterable[QueuedPodInfo], interest: Interest, old: object, new: object) -> None:
        now = self._now()
        ready = False
        for queued in pods:
            if queued.gating_plugin and not interest.may_open_gate(queued):
                continue
            strategy = interest.strategy(queued, old, new)
            if strategy is not Strategy.SKIP:
                self._unschedulable.remove(queued.key)
                ready |= self._requeuer.requeue(queued, strategy, interest.event.label, now)
        self._in_flight.record(interest.event, old, new)
        if ready:
            self.on_ready()


def _nobody_waits() -> None:
    """The driver polls, or there is none."""


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
