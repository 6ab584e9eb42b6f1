# SPDX-License-Identifier: Apache-2.0
"""The scheduling queue: all pods without a node, and the rules when each is retried.

Pods of a group are scheduled together: the sub-queues contain pods and groups. Pods come from
`ingest` (add, update, delete) and from failed attempts; cluster events from `ingest` move waiting
pods; the scheduling cycle pops. The queue does no I/O and has no background tasks: a
driver calls the two flushes (on a timer, or at `next_wakeup`) and waits for `on_ready` if there is
nothing to pop.

The rules are in neighbouring modules: `requeue` (where a pod goes, and what gates it),
`event_moves` and `hints` (which events move it), `backoff` (how long it waits), `attempts` (what
happens during an attempt), `pod_group_queue` (members of groups), `queue_views` (readers).
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
    Status,
)
from steersman.scheduler.queue.attempts import Attempts
from steersman.scheduler.queue.backoff import BackoffQueue
from steersman.scheduler.queue.event_moves import QUEUE, EventMoves
from steersman.scheduler.queue.heap import SortKey
from steersman.scheduler.queue.hints import HintTable
from steersman.scheduler.queue.nominator import Nominator, PodLookup
from steersman.scheduler.queue.pod_group_queue import SCHEDULE_ATTEMPT_FAILURE, PodGroupQueue
from steersman.scheduler.queue.queue_views import QueueInvariantError, QueueViews
from steersman.scheduler.queue.queued_pod import MICROSECONDS, Place, QueuedPodInfo
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedMember, QueuedPodGroup
from steersman.scheduler.queue.requeue import PreEnqueueGate, Requeuer
from steersman.scheduler.queue.saved_queue import SavedGroup, SavedNomination, SavedPod, SavedQueue
from steersman.scheduler.queue.settings import (
    DEFAULT_QUEUE_SETTINGS,
    CountingQueueMetrics,
    QueueMetrics,
    QueueProfile,
    QueueSettings,
)
from steersman.scheduler.queue.sub_queues import (
    ActiveQueue,
    SubQueues,
)
from steersman.scheduler.queue.unschedulable import UnschedulablePods
from steersman.scheduler.state import GroupHierarchy, group_of_pod

BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF_QUEUE: Final = "PopFromBackoffQ"
_POP: Final = "Pop"
_DONE: Final = "Done"
_CLOSE: Final = "Close"


def _labels_of_new_pods(events: PodEvents) -> frozenset[str]:
    return frozenset({events.unscheduled_add.label, events.unscheduled_update.label})


class SchedulingQueue(QueueViews):
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
        self._groups: PodGroupQueue | None = None
        if settings.pod_groups is not None:
            hierarchy = GroupHierarchy(has_composites=settings.pod_groups.has_composites)
            self._groups = PodGroupQueue(
                hierarchy, self._queues, self._requeuer, self._attempts, self.pod_events, self._now
            )
        self._internal_errors = internal_errors
        self._event_moves = EventMoves(
            self._queues,
            hints,
            self._requeuer,
            releasing_gates,
            [gate for profile in profiles.values() for gate in profile.group_gates],
            self._now,
            self.pod_events,
            internal_errors,
        )

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
        queued = self.get(api.key(new))
        if queued is None:
            events = self.pod_events
            known = events.unscheduled_add if events.by_role else events.unscheduled_update
            self._add(new, known.label)
            return
        queued.replace_pod(new)
        self.nominator.update(old, new)
        moved: Queued | None = queued.group if isinstance(queued, QueuedMember) else queued
        if moved is not None and moved.place is Place.UNSCHEDULABLE:
            self._announce(self._event_moves.update(moved, old, new))
        elif moved is queued:
            self._queues.reposition(queued)

    def delete(self, pod: api.Pod) -> None:
        """Remove a pod that was deleted or has a node now."""
        self.nominator.remove(pod)
        key = api.key(pod)
        member = None if self._groups is None else self._groups.get(key)
        if self._groups is not None and member is not None:
            self._announce(self._groups.delete(member))
            return
        queued = self._queues.get_pod(key)
        if queued is None:
            return
        self._queues.remove(key)
        if self._uncounts_deleted_pods or queued.place is Place.UNSCHEDULABLE:
            self._attempts.count_rejections(queued, -1)
        queued.move_to(Place.OUTSIDE, self.pod_events.unscheduled_delete.label)

    # Attempts

    def pop_nowait(self) -> Queued | None:
        """Remove and return the next pod or group, or None, and begin its attempt."""
        queues, begin = self._queues, self._attempts.begin
        self._end_cycle()
        while (queued := queues.active.pods.pop()) is not None:
            if self._begin_group(queued) if isinstance(queued, QueuedPodGroup) else begin(queued, _POP):
                return queued
        while queues.backoff.is_popped_early and (pod := queues.backoff.pop_rejected()) is not None:
            self.metrics.pod_entered(pod, "active", POP_FROM_BACKOFF_QUEUE)
            if begin(pod, POP_FROM_BACKOFF_QUEUE):
                return pod
        return None

    def pop_active(self) -> QueuedPodInfo | None:
        """Remove and return the first pod of activeQ, without beginning its attempt: `begin` or
        `begin_and_end` must be called before anything else happens to the queue. Return None if
        there is none, or a group is first."""
        queues = self._queues
        self._end_cycle()
        while (queued := queues.active.pods.pop()) is not None:
            if isinstance(queued, QueuedPodGroup):
                queues.active.pods.add(queued)
                return None
            if queued.uid not in queues.in_flight.pods:
                return queued
            self._attempts.begin(queued, _POP)  # which drops it
        return None

    def begin(self, queued: QueuedPodInfo) -> None:
        """Begin the attempt of a pod from `pop_active`."""
        self._attempts.begin(queued, _POP)

    def begin_and_end(self, queued: QueuedPodInfo) -> None:
        """Count the attempt of a pod from `pop_active` that was already scheduled."""
        self._attempts.begin_and_end(queued, _DONE)

    def peek(self) -> QueuedPodInfo | None:
        """Return the pod that `pop_nowait` would return, or the first member of the group, without
        removing it."""
        queues = self._queues
        queued = queues.active.pods.peek()
        if queued is None and queues.backoff.is_popped_early:
            queued = queues.backoff.rejected.peek()
        return next(queued.pods()) if isinstance(queued, QueuedPodGroup) else queued

    def leading(self, limit: int) -> Iterator[QueuedPodInfo]:
        """Yield at most `limit` of the pods that the next pops would return, up to the first group,
        possibly fewer than there are. The queue must not change during the iteration."""
        for queued in self._queues.active.pods.leading(limit):
            if isinstance(queued, QueuedPodGroup):
                return
            yield queued

    def pop_placed(self, uid: str) -> QueuedPodInfo:
        """Remove the first of the `leading` pods, which has this uid and was already scheduled."""
        queued = self._queues.active.pods.pop()
        if queued is None or queued.uid != uid or isinstance(queued, QueuedPodGroup):
            raise QueueInvariantError(f"a node was found for the pod with uid {uid}, but the next one is {queued}")
        self._attempts.begin_and_end(queued, _DONE)
        return queued

    def pop_specific(self, pod: api.Pod) -> QueuedPodInfo | None:
        """Pop this pod, as if it had been activated and its turn had come; None if it is not in the
        queue, or is the member of a group."""
        self._activate(pod)
        self._end_cycle()
        queued = self._queues.active.pods.remove(api.key(pod))
        if queued is None or isinstance(queued, QueuedPodGroup):
            return None
        return queued if self._attempts.begin(queued, _POP) else None

    def done(self, uid: str) -> None:
        """End an attempt; must be called for every popped pod that is not put back."""
        self._queues.in_flight.done(uid, _DONE)

    def add_unschedulable_if_not_present(self, queued: QueuedPodInfo) -> None:
        """Put back a pod whose attempt failed, after `record_attempt`. Always includes `done`.

        Raises `PodAlreadyQueuedError` if a pod with the same name was queued in the meantime.
        """
        if self._groups is not None and isinstance(queued, QueuedMember):
            self.done(queued.uid)
            self._announce(self._groups.put_back(queued))
            return
        try:
            self._queues.require_absent(queued.key)
            now = self._now()
            strategy = self._attempts.end_in_failure(queued, now)
            self._announce(self._requeuer.requeue(queued, strategy, SCHEDULE_ATTEMPT_FAILURE, now))
        finally:
            self.done(queued.uid)

    def requeue_group(self, group: QueuedPodGroup, status: Status | None) -> None:
        """End the attempt of a popped group, and queue it again if members are left: failed ones,
        which must have been put back before, and new ones.

        After a success (None) they are retried at once, otherwise after the backoff of the group.
        """
        if self._groups is not None:
            self._announce(self._groups.requeue(group, status))

    def group_with(self, key: str) -> QueuedPodGroup | None:
        """Return the waiting group of the member `namespace/name`, with its tree; None if the pod
        waits in no group."""
        member = None if self._groups is None else self._groups.get(key)
        if self._groups is None or member is None or member.group is None:
            return None
        group = member.group
        group.root = self._groups.hierarchy.tree(group.root.key)[group.root.key]
        return group

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

    # Groups of the API server; without the gate GenericWorkload they are ignored

    def add_pod_group(self, group: api.AnyPodGroup) -> None:
        """Add a PodGroup or CompositePodGroup, and move the pods that have waited for it."""
        if self._groups is not None:
            self._announce(self._groups.add_group(group))

    def update_pod_group(self, group: api.AnyPodGroup) -> None:
        if self._groups is not None:
            self._announce(self._groups.update_group(group))

    def delete_pod_group(self, group: api.AnyPodGroup) -> None:
        """Remove a group. The pods below it wait until it exists again."""
        if self._groups is not None:
            self._announce(self._groups.delete_group(group))

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

    # Saving and restoring

    def saved(self) -> SavedQueue | None:
        """Return the contents as data; None while a pod is in flight."""
        if len(self._queues.in_flight):
            return None
        queued = list(self._queues.ordered())
        nominations = (
            SavedNomination(node, *ref) for node in self.nominator.nodes() for ref in self.nominator.for_node(node)
        )
        members = () if self._groups is None else self._groups.outside_groups()
        return SavedQueue(
            tuple(SavedPod.from_queued(pod) for pod in queued if not isinstance(pod, QueuedPodGroup)),
            tuple(nominations),
            next(self._serials),
            self.scheduling_cycle,
            tuple(SavedGroup.from_group(group) for group in queued if isinstance(group, QueuedPodGroup)),
            tuple(map(SavedPod.from_queued, members)),
        )

    def restore(self, saved: SavedQueue, pods: Mapping[str, api.Pod]) -> None:
        """Replace the contents; `pods` are those that exist, by `namespace/name`, and groups must
        have been added before. Raises `InputError`."""
        self._queues.clear()
        self.nominator.clear()
        for saved_pod in saved.pods:
            queued = saved_pod.restored(pods)
            self._queues.put(queued, saved_pod.place, saved_pod.moved_by)
            self._attempts.count_rejections(queued, 1)
        if self._groups is not None:
            self._groups.restore(saved, pods)
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
        leaf = None if self._groups is None else group_of_pod(pod)
        if self._groups is not None and leaf is not None:
            self._announce(self._groups.add(pod, leaf))
        elif self._requeuer.to_active(QueuedPodInfo(pod, now, next(self._serials)), event, now):
            self.on_ready()

    def _begin_group(self, group: QueuedPodGroup) -> bool:
        if self._groups is None or not self._groups.begin(group, _POP):
            return False
        if len(self.nominator):
            for member in group.pods():
                self.nominator.refresh(member.uid)
        return True

    def _end_cycle(self) -> None:
        """Note that no group is being scheduled any more."""
        if self._groups is not None:
            self._announce(self._groups.end_cycle())

    def _activate(self, pod: api.Pod) -> bool:
        leaf = None if self._groups is None else group_of_pod(pod)
        key = api.key(pod) if self._groups is None or leaf is None else str(self._groups.hierarchy.root(leaf))
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
