# SPDX-License-Identifier: Apache-2.0
"""Moves of unschedulable pods: after a cluster event, an update of the pod, or a timeout.

`scheduling_queue` calls this module; `hints` finds the pods that an event may help, `requeue` where
they go. Every method returns whether a pod became poppable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from steersman import api
from steersman.base import InternalErrors
from steersman.framework import UNSCHEDULABLE_TIMEOUT, ClusterEvent, PodEvents
from steersman.scheduler.queue.hints import HintTable, Interest, Strategy
from steersman.scheduler.queue.queued_pod_group import Queued, QueuedPodGroup
from steersman.scheduler.queue.requeue import Requeuer
from steersman.scheduler.queue.settings import GroupGate, ReleasingGate
from steersman.scheduler.queue.sub_queues import SubQueues

logger = logging.getLogger(__name__)

FAILED_TO_TELL: Final = "PreEnqueue plugin %s raised in %s for event %s"
QUEUE: Final = "queue"
"""Component name in reports to `InternalErrors`."""

PreCheck = Callable[[api.Pod], bool]
"""Returns whether a waiting pod is to be considered at all."""


class EventMoves:
    """Moves waiting pods, and records events for the pods in flight."""

    def __init__(
        self,
        queues: SubQueues,
        hints: HintTable,
        requeuer: Requeuer,
        releasing_gates: Iterable[ReleasingGate],
        group_gates: Iterable[GroupGate],
        current_time: Callable[[], int],
        pod_events: PodEvents,
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self._pod_events = pod_events
        self._internal_errors = internal_errors
        self._queues = queues
        self._hints = hints
        self._requeuer = requeuer
        self._releasing_gates = tuple(releasing_gates)
        self._group_gates = tuple(group_gates)
        self._current_time = current_time

    @property
    def has_event_subscribers(self) -> bool:
        """Whether any pod waits for events or is in flight."""
        return bool(self._queues.unschedulable.pods) or bool(self._queues.in_flight.pods)

    def waits_for(self, event: ClusterEvent) -> bool:
        """Return whether the event may move a waiting pod."""
        waiting, interest = self._queues.unschedulable, self._hints.interest(event)
        if not waiting.pods or not interest:
            return False
        gates = (gate.name for gate in self._releasing_gates if gate.name in interest.plugins)
        return (
            interest.is_wildcard
            or waiting.is_any_rejected_by(interest.plugins)
            or any(waiting.gated_by(gate, None) for gate in gates)
        )

    def event(self, event: ClusterEvent, old: object, new: object, pre_check: PreCheck | None) -> bool:
        """Move the pods that an event may help. Events without registrations are not even
        recorded."""
        if not self.has_event_subscribers:
            return False
        interest = self._hints.interest(event)
        if not interest:
            return False
        waiting = self._queues.unschedulable
        pods: list[Queued] = (
            list(waiting.pods)
            if interest.is_wildcard
            else waiting.rejected_by(interest.plugins, self._helped(interest, old, new))
        )
        if not interest.is_wildcard:
            pods += self._released(interest, old, new)
        if pre_check is not None:
            pods = [queued for queued in pods if _passes(queued, pre_check)]
        return self._move(pods, interest, old, new)

    def update(self, queued: Queued, old: api.Pod, new: api.Pod) -> bool:
        """Move the pod or group after an update of the pod: try its events in turn until one moves
        it."""
        now = self._current_time()
        for event in self._pod_events.of_update(old, new):
            strategy = _strategy(self._hints.interest(event), queued, old, new)
            if self._requeuer.requeue(queued, strategy, event.label, now):
                return True
        return False

    def overdue(self) -> bool:
        """Move the pods that have waited for too long, including gated ones, in case an event was
        missed."""
        now = self._current_time()
        overdue = self._queues.unschedulable.overdue(now)
        for queued in overdue:
            queued.mark_flushed(True)
            queued.flushed_at = now
        return bool(overdue) and self._move(overdue, self._hints.interest(UNSCHEDULABLE_TIMEOUT), None, None)

    def _helped(self, interest: Interest, old: object, new: object) -> Mapping[str, Collection[str]]:
        """Return the keys of the groups that the event may help, by plugin that names them."""
        helped: dict[str, set[str]] = {}
        for gate in self._group_gates:
            if gate.name in interest.plugins:
                try:
                    keys = gate.helped_groups(interest.event, old, new)
                except (Exception, SystemExit):
                    logger.exception(FAILED_TO_TELL, gate.name, "helped_groups", interest.event.label)
                    return {}
                helped.setdefault(gate.name, set()).update(map(str, keys))
        return helped

    def _released(self, interest: Interest, old: object, new: object) -> list[Queued]:
        """Return the gated pods that the event ungates, according to gates that implement
        `ungated_pods`."""
        released: list[Queued] = []
        for gate in self._releasing_gates:
            if gate.name in interest.plugins:
                released += self._queues.unschedulable.gated_by(
                    gate.name, _released_uids(gate, interest.event, old, new)
                )
        return released

    def _move(self, pods: Iterable[Queued], interest: Interest, old: object, new: object) -> bool:
        now = self._current_time()
        ready = False
        for queued in pods:
            try:
                if queued.gating_plugin and not interest.may_open_gate(queued):
                    continue
                strategy = _strategy(interest, queued, old, new)
                if strategy is not Strategy.SKIP:
                    ready |= self._requeue(queued, strategy, interest.event.label, now)
            except Exception as error:
                if self._internal_errors is None:
                    raise
                self._internal_errors.survived(QUEUE, f"{queued.noun.capitalize()} {queued.key}", error)
        self._queues.in_flight.record(interest.event, old, new)
        return ready

    def _requeue(self, queued: Queued, strategy: Strategy, event: str, now: int) -> bool:
        """Requeue a pod. A pod that is still gated stays where it is, as most preemptors do when a
        victim is deleted; it is counted as if it had left and come back."""
        waiting = self._queues.unschedulable
        if not queued.gating_plugin:
            waiting.remove(queued.key)
            return self._requeuer.requeue(queued, strategy, event, now)
        if self._requeuer.requeue(queued, strategy, event, now):
            return True
        waiting.count_entry(queued, event)
        return False


def _strategy(interest: Interest, queued: Queued, old: object, new: object) -> Strategy:
    if isinstance(queued, QueuedPodGroup):
        return interest.group_strategy(queued, old, new)
    return interest.strategy(queued, old, new)


def _passes(queued: Queued, pre_check: PreCheck) -> bool:
    """Return whether the pod, or a member of the group, is to be considered."""
    if isinstance(queued, QueuedPodGroup):
        return any(pre_check(member.pod) for member in queued.pods())
    return pre_check(queued.pod)


def _released_uids(gate: ReleasingGate, event: ClusterEvent, old: object, new: object) -> Collection[str] | None:
    """Return the uids that the gate releases; None, for all pods, if the plugin raises, since an
    unnecessary retry is better than a stuck pod."""
    try:
        return gate.ungated_pods(event, old, new)
    except (Exception, SystemExit):
        logger.exception(FAILED_TO_TELL, gate.name, "ungated_pods", event.label)
        return None
