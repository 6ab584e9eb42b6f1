# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: all pods without a node, and the rules when each is retried.

Pods come from `ingest` (add, update, delete) and from failed attempts; cluster events from `ingest`
move waiting pods; the scheduling cycle pops. The queue does no I/O and has no background tasks: a
driver calls the two flushes (on a timer, or at `next_wakeup`) and waits for `on_ready` if there is
nothing to pop.

The rules are in neighbouring modules: `requeue` (where a pod goes, and what gates it),
`event_moves` and `hints` (which events move it), `backoff` (how long it waits), `attempts` (what
happens during an attempt).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Final

from steersman import api
from steersman.base import Clock, InternalErrors
from steersman.framework import (
    FORCE_ACTIVATE,
    ClusterEvent,
    PodEvents,
)
from steersman.scheduler.queue.attempts import Attempts
from steersman.scheduler.queue.backoff import BackoffQueue
from steersman.scheduler.queue.event_moves import QUEUE, EventMoves
from steersman.scheduler.queue.heap import SortKey
from steersman.scheduler.queue.hints import HintTable, RecordedEvent
from steersman.scheduler.queue.nominator import Nominator, PodLookup
from steersman.scheduler.queue.queued_pod import MICROSECONDS, Place, QueuedPodInfo
from steersman.scheduler.queue.requeue import PreEnqueueGate, Requeuer
from steersman.scheduler.queue.saved_queue import SavedNomination, SavedQueue, saved_pods
from steersman.scheduler.queue.settings import (
    DEFAULT_QUEUE_SETTINGS,
    CountingQueueMetrics,
    QueueMetrics,
    QueueProfile,
    QueueSettings,
)
from steersman.scheduler.queue.sub_queues import ActiveQueue, PendingPods, QueueContents, QueueStatistics, SubQueues
from steersman.scheduler.queue.unschedulable import UnschedulablePods

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE: Final = "PopFromBackoffQ"
_POP: Final = "Pop"
_DONE: Final = "Done"
_CLOSE: Final = "Close"


def _labels_of_new_pods(events: PodEvents) -> frozenset[str]:
    return frozenset({events.unscheduled_add.label, events.unscheduled_update.label})


class QueueInvariantError(AssertionError):
    """`validate_state` found the queue in an inconsistent state."""


class SchedulingQueue:
    """Interface of the queue."""

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
        """With `internal_errors`, an exception caused by one pod is reported and does not stop the
        moves of others."""
        self.metrics: QueueMetrics = metrics if metrics is not None else CountingQueueMetrics()
        self.pod_events = settings.pod_events
        self._nominates_on_add = settings.nominates_on_add
        self._uncounts_deleted_pods = settings.uncounts_deleted_pods
        self.nominator = Nominator(pod_lookup, allows_empty_node=not settings.nominates_on_add)
        #: Called after a pod became poppable or the queue was closed; set by a waiting driver.
        self.on_ready: Callable[[], None] = _ignore_ready
        self._monotonic = clock.monotonic
        self._serials = count(1)
        initial, maximum = _microseconds(settings.initial_backoff), _microseconds(settings.max_backoff)
        # Two profiles may each have a plugin of the same name: both are called, each for its own
        # pods.
        releasing_gates = [gate for profile in profiles.values() for gate in profile.releasing_gates]
        self._queues = SubQueues(
            ActiveQueue(sort_key, self.metrics),
            BackoffQueue(initial, maximum, sort_key, self.metrics, settings.pops_from_backoff),
            UnschedulablePods(
                _microseconds(settings.max_in_unschedulable),
                profiles.keys(),
                {gate.name for gate in releasing_gates},
                self.metrics,
            ),
        )
        hints = HintTable(profiles, self.metrics, internal_errors)
        self._attempts = Attempts(self._queues.in_flight, self._queues.backoff, hints, self.metrics, self._serials)
        self._requeuer = Requeuer(
            self._queues,
            PreEnqueueGate(profiles, self.metrics, internal_errors),
            self.nominator,
            () if settings.nominates_on_add else _labels_of_new_pods(self.pod_events),
        )
        self._internal_errors = internal_errors
        self._event_moves = EventMoves(
            self._queues, hints, self._requeuer, releasing_gates, self._now, self.pod_events, internal_errors
        )

    @property
    def scheduling_cycle(self) -> int:
        """Number of attempts begun."""
        return self._attempts.begun

    # Pods of the API server

    def add(self, pod: api.Pod) -> None:
        """Add a pod without a node."""
        self._add(pod, self.pod_events.unscheduled_add.label)

    def update(self, old: api.Pod, new: api.Pod) -> None:
        """Update a pod without a node."""
        if new.metadata.uid in self._queues.in_flight.pods:
            # It will return with the latest version; only the events of the update must not get
            # lost.
            for event in self.pod_events.of_update(old, new):
                self._queues.in_flight.record(event, old, new)
            return
        queued = self._queues.get(api.key(new))
        if queued is None:
            events = self.pod_events
            known = events.unscheduled_add if events.by_role else events.unscheduled_update
            self._add(new, known.label)
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
        """Remove a pod that was deleted or has a node now."""
        self.nominator.remove(pod)
        key = api.key(pod)
        queued = self._queues.active.pods.remove(key) or self._queues.backoff.remove(key)
        if queued is None:
            queued = self._queues.unschedulable.remove(key)
            if queued is None:
                return
            self._attempts.count_rejections(queued, -1)
        elif self._uncounts_deleted_pods:
            self._attempts.count_rejections(queued, -1)
        queued.move_to(Place.OUTSIDE, self.pod_events.unscheduled_delete.label)

    # Attempts

    def pop_nowait(self) -> QueuedPodInfo | None:
        """Remove and return the next pod, or None, and begin its attempt."""
        queues, begin = self._queues, self._attempts.begin
        while (queued := queues.active.pods.pop()) is not None:
            if begin(queued, _POP):
                return queued
        while queues.backoff.is_popped_early and (queued := queues.backoff.rejected.pop()) is not None:
            self.metrics.pod_entered(queued, "active", POP_FROM_BACKOFF_QUEUE)
            if begin(queued, POP_FROM_BACKOFF_QUEUE):
                return queued
        return None

    def pop_active(self) -> QueuedPodInfo | None:
        """Remove and return the first pod of activeQ, or None, without beginning its attempt:
        `begin` or `begin_and_end` must be called before anything else happens to the queue."""
        queues = self._queues
        while (queued := queues.active.pods.pop()) is not None and queued.uid in queues.in_flight.pods:
            self._attempts.begin(queued, _POP)  # which drops it
        return queued

    def begin(self, queued: QueuedPodInfo) -> None:
        """Begin the attempt of a pod from `pop_active`."""
        self._attempts.begin(queued, _POP)

    def begin_and_end(self, queued: QueuedPodInfo) -> None:
        """Count the attempt of a pod from `pop_active` that was already scheduled."""
        self._attempts.begin_and_end(queued, _DONE)

    def peek(self) -> QueuedPodInfo | None:
        """Return the pod that `pop_nowait` would return, without removing it."""
        queues = self._queues
        queued = queues.active.pods.peek()
        if queued is None and queues.backoff.is_popped_early:
            queued = queues.backoff.rejected.peek()
        return queued

    def leading(self, limit: int) -> Iterator[QueuedPodInfo]:
        """Yield at most `limit` of the pods that the next pops would return, possibly fewer than
        there are. The queue must not change during the iteration."""
        return self._queues.active.pods.leading(limit)

    def pop_placed(self, uid: str) -> QueuedPodInfo:
        """Remove the first of the `leading` pods, which has this uid and was already scheduled."""
        queued = self._queues.active.pods.pop()
        if queued is None or queued.uid != uid:
            raise QueueInvariantError(f"a node was found for the pod with uid {uid}, but the next one is {queued}")
        self._attempts.begin_and_end(queued, _DONE)
        return queued

    def pop_specific(self, pod: api.Pod) -> QueuedPodInfo | None:
        """Pop this pod, as if it had been activated and its turn had come; None if it is not in the
        queue."""
        self._activate(pod)
        queued = self._queues.active.pods.remove(api.key(pod))
        return queued if queued is not None and self._attempts.begin(queued, _POP) else None

    def done(self, uid: str) -> None:
        """End an attempt; must be called for every popped pod that is not put back."""
        self._queues.in_flight.done(uid, _DONE)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo) -> None:
        """Put back a pod whose attempt failed, after `record_attempt`. Always includes `done`.

        Raises `PodAlreadyQueuedError` if a pod with the same name was queued in the meantime.
        """
        try:
            self._queues.require_absent(queued.key)
            now = self._now()
            strategy = self._attempts.end_in_failure(queued, now)
            self._announce(self._requeuer.requeue(queued, strategy, SCHEDULE_ATTEMPT_FAILURE, now))
        finally:
            self.done(queued.uid)

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Move waiting pods to activeQ immediately; a pod in flight is retried when its attempt
        fails."""
        ready = False
        for pod in pods:
            if self._activate(pod):
                ready = True
            elif pod.metadata.uid in self._queues.in_flight.pods:
                self._queues.in_flight.record(FORCE_ACTIVATE, None, pod)
        self._announce(ready)

    # Cluster events

    @property
    def has_event_subscribers(self) -> bool:
        """Whether any pod waits for events or is in flight."""
        return self._event_moves.has_event_subscribers

    def waits_for(self, event: ClusterEvent) -> bool:
        """Return whether the event may move a waiting pod."""
        return self._event_moves.waits_for(event)

    def move_all(
        self,
        event: ClusterEvent,
        old: object = None,
        new: object = None,
        pre_check: Callable[[api.Pod], bool] | None = None,
    ) -> None:
        """Move the waiting pods that an event may help, and record it for those in flight."""
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
    def aligns_backoff_to_seconds(self) -> bool:
        """Whether `flush_backoff` should be called just after the start of a second of monotonic
        time."""
        return self._queues.backoff.is_popped_early

    def flush_unschedulable(self) -> None:
        """Move the pods that have been unschedulable for too long; due every 30 seconds."""
        self._announce(self._event_moves.overdue())

    def next_wakeup(self) -> float | None:
        """Return the earliest monotonic time at which a flush will have an effect, or None."""
        moments = (self._queues.backoff.next_completion(), self._queues.unschedulable.next_overdue())
        first = min((moment for moment in moments if moment is not None), default=None)
        return None if first is None else first / MICROSECONDS

    def close(self) -> None:
        """End all attempts in flight; queued pods can still be popped."""
        self._queues.in_flight.clear(_CLOSE)
        self.on_ready()

    # Nominations

    def add_nominated_pod(self, pod: api.Pod, node_name: str | None = None) -> None:
        """Set the pod's nomination to the given node or, without one, to that of its status."""
        self.nominator.add(pod, node_name)

    def delete_nominated_pod_if_exists(self, pod: api.Pod) -> None:
        self.nominator.remove(pod)

    def nominated_pods_for_node(self, node_name: str) -> list[api.Pod]:
        """Return the pods nominated to a node, oldest nomination first; one that is not queued is a
        bare reference."""
        refs = self.nominator.for_node(node_name)
        return [queued.pod if (queued := self.get(ref.key)) is not None else ref.bare_pod() for ref in refs]

    # Views

    def get(self, key: str) -> QueuedPodInfo | None:
        """Return the pod with this `namespace/name` if it is in a sub-queue."""
        return self._queues.get(key)

    def next_attempt(self, queued: QueuedPodInfo) -> float | None:
        """Return the monotonic time at which a queued pod becomes active without an event, or None
        if only an event moves it."""
        if queued.place in (Place.BACKOFF, Place.ERROR_BACKOFF):
            return queued.backoff_until / MICROSECONDS
        if queued.place is Place.UNSCHEDULABLE:
            return None if queued.is_gated else self._queues.unschedulable.deadline(queued) / MICROSECONDS
        return self._now() / MICROSECONDS

    def in_flight_pods(self) -> list[api.Pod]:
        """Return the pods in flight, oldest pop first."""
        return [queued.pod for queued in self._queues.in_flight]

    def in_flight_log(self) -> list[QueuedPodInfo | RecordedEvent]:
        """Return the pops of the pods in flight and the events recorded for them, in order."""
        return self._queues.in_flight.log()

    def pending_pods(self) -> PendingPods:
        """Return every waiting pod, and the number of pods per sub-queue."""
        return self._queues.pending_pods()

    def contents(self) -> QueueContents:
        """Return every pod in the queue, in order; slow, for reports and tests."""
        return self._queues.contents()

    def statistics(self) -> QueueStatistics:
        """Return the sizes of the sub-queues; cheap."""
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
        """Return the number of unschedulable pods that each plugin rejects or gates; cheap."""
        return self._queues.unschedulable.rejections()

    @property
    def size(self) -> int:
        """Number of pods in the sub-queues; cheap."""
        return self._queues.size

    def waiting_pods(self) -> Iterator[QueuedPodInfo]:
        """Iterate over the pods in the sub-queues, in no particular order."""
        return self._queues.pods()

    def unschedulable_pods(self) -> Iterator[QueuedPodInfo]:
        """Iterate over the unschedulable pods, including gated ones, in no particular order."""
        return iter(self._queues.unschedulable.pods)

    def validate_state(self) -> None:
        """Raise `QueueInvariantError` if the queue is inconsistent; slow, for tests and debugging."""
        problems = [*self._queues.problems(), *self.nominator.problems()]
        if problems:
            raise QueueInvariantError("; ".join(problems))

    # Saving and restoring

    def saved(self) -> SavedQueue | None:
        """Return the contents as data; None while a pod is in flight."""
        if len(self._queues.in_flight):
            return None
        contents = self._queues.contents()
        pods = saved_pods((contents.active, contents.backoff, contents.error_backoff, contents.unschedulable))
        nominations = (
            SavedNomination(node, *ref) for node in self.nominator.nodes() for ref in self.nominator.for_node(node)
        )
        return SavedQueue(pods, tuple(nominations), next(self._serials), self.scheduling_cycle)

    def restore(self, saved: SavedQueue, pods: Mapping[str, api.Pod]) -> None:
        """Replace the contents; `pods` are those that exist, by `namespace/name`. Raises `InputError`."""
        self._queues.clear()
        self.nominator.clear()
        for saved_pod in saved.pods:
            queued = saved_pod.restored(pods)
            self._queues.put(queued, saved_pod.place, saved_pod.moved_by)
            self._attempts.count_rejections(queued, 1)
        for nomination in saved.nominations:
            meta = api.ObjectMeta(name=nomination.name, namespace=nomination.namespace, uid=nomination.uid)
            self.nominator.add(api.Pod(metadata=meta), nomination.node)
        self._serials = count(saved.next_serial)
        self._attempts.resume(saved.scheduling_cycle, self._serials)

    # Shared by the operations above

    def _now(self) -> int:
        return round(self._monotonic() * MICROSECONDS)

    def _announce(self, ready: bool) -> None:
        if ready:
            self.on_ready()

    def _add(self, pod: api.Pod, event: str) -> None:
        now = self._now()
        if self._nominates_on_add:
            self.nominator.add(pod)
        if self._requeuer.to_active(QueuedPodInfo(pod, now, next(self._serials)), event, now):
            self.on_ready()

    def _activate(self, pod: api.Pod) -> bool:
        key = api.key(pod)
        queued = self._queues.unschedulable.pods.get(key)
        if queued is not None:
            queued.woken_by = FORCE_ACTIVATE.label, ""
            return self._requeuer.to_active(queued, FORCE_ACTIVATE.label, self._now())
        queued = self._queues.backoff.remove(key)
        if queued is None:
            return False
        queued.woken_by = FORCE_ACTIVATE.label, ""
        return self._requeuer.leave_backoff(queued, FORCE_ACTIVATE.label, self._now())


def _ignore_ready() -> None:
    """Default of `on_ready`."""


def _microseconds(seconds: float) -> int:
    return round(seconds * MICROSECONDS)
