# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: all pods that want a node, and the rules for when each of them is tried next.

Pods come in from `ingest` (add, update, delete) and from the end of failed attempts; cluster events come in from
`ingest` and wake waiting pods; the scheduling cycle pops. The queue does no I/O and has no tasks of its own: a driver
calls the two flushes (on a timer, or at `next_wakeup`) and waits for `on_ready` when there is nothing to pop.

The rules live in the neighbours: `requeue` (where a pod goes, and what holds it back), `event_moves` and `hints` (what wakes
it), `backoff` (how long it waits), `attempts` (what happens around an attempt, and meanwhile).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Final

from steersman import api
from steersman.clock import Clock
from steersman.framework.events import (
    FORCE_ACTIVATE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    pod_update_events,
)
from steersman.internal_errors import InternalErrors
from steersman.queue.attempts import Attempts
from steersman.queue.backoff import BackoffQueue
from steersman.queue.event_moves import QUEUE, EventMoves
from steersman.queue.heap import SortKey
from steersman.queue.hints import HintTable, RecordedEvent
from steersman.queue.nominator import Nominator, PodLookup
from steersman.queue.queued_pod import MICROSECONDS, Place, QueuedPodInfo
from steersman.queue.requeue import PreEnqueueGate, Requeuer
from steersman.queue.settings import (
    DEFAULT_QUEUE_SETTINGS,
    CountingQueueMetrics,
    QueueMetrics,
    QueueProfile,
    QueueSettings,
)
from steersman.queue.sub_queues import ActiveQueue, PendingPods, QueueContents, QueueStatistics, SubQueues
from steersman.queue.unschedulable import UnschedulablePods

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE: Final = "PopFromBackoffQ"
_POP: Final = "Pop"
_DONE: Final = "Done"
_CLOSE: Final = "Close"


class QueueInvariantError(AssertionError):
    """`validate_state` found the queue in a state that cannot be."""


class SchedulingQueue:
    """The one way into the queue."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        sort_key: SortKey,
        clock: Clock,
        settings: QueueSettings = DEFAULT_QUEUE_SETTINGS,
        *,
        pod_lookup: PodLookup | None = None,
        metrics: QueueMetrics | None = None,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        """With `internal_errors`, a pod that breaks a rule of the queue does not keep others from moving."""
        self.metrics: QueueMetrics = metrics if metrics is not None else CountingQueueMetrics()
        self.nominator = Nominator(pod_lookup)
        #: Called after something became poppable, or the queue was closed; a waiting driver sets it.
        self.on_ready: Callable[[], None] = _nobody_waits
        self._monotonic = clock.monotonic
        self._serials = count(1)
        initial, maximum = _microseconds(settings.initial_backoff), _microseconds(settings.max_backoff)
        # Two profiles may each have a plugin of one name: then both are asked, and tell of their own pods.
        telling_gates = [gate for profile in profiles.values() for gate in profile.telling_gates]
        self._queues = SubQueues(
            ActiveQueue(sort_key, self.metrics),
            BackoffQueue(initial, maximum, sort_key, self.metrics, settings.pops_from_backoff),
            UnschedulablePods(
                _microseconds(settings.max_in_unschedulable),
                profiles.keys(),
                {gate.name for gate in telling_gates},
                self.metrics,
            ),
        )
        hints = HintTable(profiles, self.metrics, internal_errors)
        self._attempts = Attempts(self._queues.in_flight, self._queues.backoff, hints, self.metrics, self._serials)
        self._requeuer = Requeuer(self._queues, PreEnqueueGate(profiles, self.metrics, internal_errors), self.nominator)
        self._internal_errors = internal_errors
        self._event_moves = EventMoves(self._queues, hints, self._requeuer, telling_gates, self._now, internal_errors)

    @property
    def scheduling_cycle(self) -> int:
        """How many attempts have begun."""
        return self._attempts.begun

    # Pods of the API server

    def add(self, pod: api.Pod) -> None:
        """A pod without a node has appeared."""
        self._add(pod, UNSCHEDULED_POD_ADD.label)

    def update(self, old: api.Pod, new: api.Pod) -> None:
        """A pod without a node has changed."""
        if new.metadata.uid in self._queues.in_flight.pods:
            # It will come back with the newest version, if at all; only the reason to try again must not get lost.
            for event in pod_update_events(old, new):
                self._queues.in_flight.record(event, old, new)
            return
        queued = self._queues.get(api.key(new))
        if queued is None:
            self._add(new, UNSCHEDULED_POD_UPDATE.label)
            return
        queued.replace_pod(new)
        self.nominator.update(old, new)
        if queued.place is Place.ACTIVE:
            self._queues.active.pods.add(queued)
        elif queued.place is Place.UNSCHEDULABLE:
            self._announce(self._event_moves.update(queued, old, new))
        else:
            self._queues.backoff.reposition(queued)

    def delete(self, pod: api.Pod) -> None:
        """A pod is gone, or has a node."""
        self.nominator.remove(pod)
        key = api.key(pod)
        queued = self._queues.active.pods.remove(key) or self._queues.backoff.remove(key)
        if queued is None:
            queued = self._queues.unschedulable.remove(key)
            if queued is None:
                return
            self._attempts.count_rejections(queued, -1)
        queued.move_to(Place.OUTSIDE, UNSCHEDULED_POD_DELETE.label)

    # Attempts

    def pop_nowait(self) -> QueuedPodInfo | None:
        """Take the pod that is to be tried next; None if there is none."""
        queues, begin = self._queues, self._attempts.begin
        while (queued := queues.active.pods.pop()) is not None:
            if begin(queued, _POP):
                return queued
        while queues.backoff.is_popped_early and (queued := queues.backoff.rejected.pop()) is not None:
            self.metrics.pod_entered(queued, "active", POP_FROM_BACKOFF_QUEUE)
            if begin(queued, POP_FROM_BACKOFF_QUEUE):
                return queued
        return None

    def take_active(self) -> QueuedPodInfo | None:
        """Take the first pod of the active queue, if there is one. Its attempt has not begun: `begin` or `begin_and_end`
        follows before anything else happens to the queue."""
        queues = self._queues
        while (queued := queues.active.pods.pop()) is not None and queued.uid in queues.in_flight.pods:
            self._attempts.begin(queued, _POP)  # which drops it
        return queued

    def begin(self, queued: QueuedPodInfo) -> None:
        """The attempt of a taken pod begins."""
        self._attempts.begin(queued, _POP)

    def begin_and_end(self, queued: QueuedPodInfo) -> None:
        """The attempt of a taken pod has already ended: it got a node."""
        self._attempts.begin_and_end(queued, _DONE)

    def peek(self) -> QueuedPodInfo | None:
        """The pod that `pop_nowait` would take; it stays."""
        queues = self._queues
        queued = queues.active.pods.peek()
        if queued is None and queues.backoff.is_popped_early:
            queued = queues.backoff.rejected.peek()
        return queued

    def leading(self, most: int) -> Iterator[QueuedPodInfo]:
        """The pods that the next pops would return, at most so many; maybe fewer than there are. They stay; nothing may
        happen to the queue before one has seen enough of them."""
        return self._queues.active.pods.leading(most)

    def pop_placed(self, uid: str) -> QueuedPodInfo:
        """Take the first of the `leading` pods, which has this uid, and whose attempt has already ended: it got a node."""
        queued = self._queues.active.pods.pop()
        if queued is None or queued.uid != uid:
            raise QueueInvariantError(f"a node was found for the pod with uid {uid}, but the next one is {queued}")
        self._attempts.begin_and_end(queued, _DONE)
        return queued

    def pop_specific(self, pod: api.Pod) -> QueuedPodInfo | None:
        """Take exactly this pod, as if it had been activated and its turn had come; None if it is not in the queue."""
        self._activate(pod)
        queued = self._queues.active.pods.remove(api.key(pod))
        return queued if queued is not None and self._attempts.begin(queued, _POP) else None

    def done(self, uid: str) -> None:
        """An attempt has ended for good; to be called for every popped pod that is not put back."""
        self._queues.in_flight.done(uid, _DONE)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo) -> None:
        """Put back a pod whose attempt failed, after `record_attempt`. Includes `done`, whatever happens.

        Raises `PodAlreadyQueuedError` if a pod with the same name was queued meanwhile.
        """
        try:
            self._queues.require_absent(queued.key)
            now = self._now()
            strategy = self._attempts.end_in_failure(queued, now)
            self._announce(self._requeuer.requeue(queued, strategy, SCHEDULE_ATTEMPT_FAILURE, now))
        finally:
            self.done(queued.uid)

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Move waiting pods to activeQ at once; a pod in flight will be tried again when it comes back."""
        ready = False
        for pod in pods:
            if self._activate(pod):
                ready = True
            elif pod.metadata.uid in self._queues.in_flight.pods:
                self._queues.in_flight.record(FORCE_ACTIVATE, None, pod)
        self._announce(ready)

    # Cluster events

    @property
    def hears_events(self) -> bool:
        """Whether an event could matter: a pod waits for one, or is in flight and must not miss it."""
        return self._event_moves.hears_events

    def waits_for(self, event: ClusterEvent) -> bool:
        """Whether such an event may move a pod that waits."""
        return self._event_moves.waits_for(event)

    def move_all(
        self,
        event: ClusterEvent,
        old: object = None,
        new: object = None,
        pre_check: Callable[[api.Pod], bool] | None = None,
    ) -> None:
        """Something happened: move the waiting pods that it may help, and remember it for those in flight."""
        self._announce(self._event_moves.event(event, old, new, pre_check))

    # Time

    def flush_backoff(self) -> None:
        """Move the pods whose backoff is over to activeQ; due every second."""
        now = self._now()
        ready = False
        for queued in self._queues.backoff.pop_completed(now):
            try:
                ready |= self._requeuer.leave_backoff(queued, BACKOFF_COMPLETE, now)
            except Exception as error:
                if self._internal_errors is None:
                    raise
                self._internal_errors.survived(QUEUE, f"Pod {queued.key}", error)
        self._announce(ready)

    @property
    def backoffs_end_at_whole_seconds(self) -> bool:
        """Whether `flush_backoff` had better be called right after a second of the monotonic clock has begun."""
        return self._queues.backoff.is_popped_early

    def flush_unschedulable(self) -> None:
        """Move the pods that have been unschedulable for too long; due every 30 seconds."""
        self._announce(self._event_moves.overdue())

    def next_wakeup(self) -> float | None:
        """The earliest monotonic time at which a flush will change something; None if nothing waits for time."""
        moments = (self._queues.backoff.next_completion(), self._queues.unschedulable.next_overdue())
        first = min((moment for moment in moments if moment is not None), default=None)
        return None if first is None else first / MICROSECONDS

    def close(self) -> None:
        """End of service: what is in flight is forgotten, what is queued can still be popped."""
        self._queues.in_flight.clear(_CLOSE)
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
        return self._queues.get(key)

    def next_attempt(self, queued: QueuedPodInfo) -> float | None:
        """The monotonic time at which a pod in one of the sub-queues becomes active unless an event moves it before; None: only
        an event does."""
        if queued.place in (Place.BACKOFF, Place.ERROR_BACKOFF):
            return queued.backoff_until / MICROSECONDS
        if queued.place is Place.UNSCHEDULABLE:
            return None if queued.is_gated else self._queues.unschedulable.deadline(queued) / MICROSECONDS
        return self._now() / MICROSECONDS

    def in_flight_pods(self) -> list[api.Pod]:
        """The pods being tried, oldest pop first."""
        return [queued.pod for queued in self._queues.in_flight]

    def in_flight_log(self) -> list[QueuedPodInfo | RecordedEvent]:
        """Pops of the pods being tried, and the events kept for them, as they happened."""
        return self._queues.in_flight.log()

    def pending_pods(self) -> PendingPods:
        """Every pod that waits for an attempt, and how many wait where."""
        return self._queues.pending_pods()

    def contents(self) -> QueueContents:
        """Every pod in the queue, in order; slow, for reports and tests."""
        return self._queues.contents()

    def statistics(self) -> QueueStatistics:
        """Sizes of everything; cheap."""
        queues = self._queues
        return QueueStatistics(
            active=len(queues.active.pods),
            backoff=len(queues.backoff.rejected),
            error_backoff=len(queues.backoff.failed),
            unschedulable=len(queues.unschedulable.pods) - len(queues.unschedulable.gated),
            gated=len(queues.unschedulable.gated),
            in_flight=len(queues.in_flight),
            in_flight_events=queues.in_flight.event_count,
            nominated=len(self.nominator),
            scheduling_cycle=self.scheduling_cycle,
        )

    def rejections(self) -> dict[str, int]:
        """How many of the unschedulable pods each plugin has rejected, or gates; cheap."""
        return self._queues.unschedulable.rejections()

    @property
    def size(self) -> int:
        """How many pods are in the sub-queues; cheap."""
        return self._queues.size

    def waiting_pods(self) -> Iterator[QueuedPodInfo]:
        """Every pod in the sub-queues, in no particular order."""
        return self._queues.pods()

    def unschedulable_pods(self) -> Iterator[QueuedPodInfo]:
        """The unschedulable pods, gated ones included, in no particular order."""
        return iter(self._queues.unschedulable.pods)

    def validate_state(self) -> None:
        """Raise `QueueInvariantError` if the queue contradicts itself; slow, for tests and debugging."""
        problems = [*self._queues.problems(), *self.nominator.problems()]
        if problems:
            raise QueueInvariantError("; ".join(problems))

    # Shared by the operations above

    def _now(self) -> int:
        return round(self._monotonic() * MICROSECONDS)

    def _announce(self, ready: bool) -> None:
        if ready:
            self.on_ready()

    def _add(self, pod: api.Pod, event: str) -> None:
        now = self._now()
        if self._requeuer.to_active(QueuedPodInfo(pod, now, next(self._serials)), event, now):
            self.on_ready()

    def _activate(self, pod: api.Pod) -> bool:
        key = api.key(pod)
        queued = self._queues.unschedulable.pods.get(key)
        if queued is not None:
            return self._requeuer.to_active(queued, FORCE_ACTIVATE.label, self._now())
        queued = self._queues.backoff.remove(key)
        if queued is None:
            return False
        return self._requeuer.leave_backoff(queued, FORCE_ACTIVATE.label, self._now())


def _nobody_waits() -> None:
    """The driver polls, or there is none."""


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
