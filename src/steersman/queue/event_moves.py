# SPDX-License-Identifier: Apache-2.0
"""Reasons to try an unschedulable pod again: a cluster event, an update of the pod itself, or too long a wait.

`scheduling_queue` calls in here; `hints` says which pods an event may help, `requeue` where those go. Every method
answers whether a pod became poppable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Final

from steersman import api
from steersman.framework.events import UNSCHEDULABLE_TIMEOUT, ClusterEvent, pod_update_events
from steersman.internal_errors import InternalErrors
from steersman.queue.hints import HintTable, Interest, Strategy
from steersman.queue.queued_pod import QueuedPodInfo
from steersman.queue.requeue import Requeuer
from steersman.queue.settings import TellingGate
from steersman.queue.sub_queues import SubQueues

logger = logging.getLogger(__name__)

QUEUE: Final = "queue"
"""Where a pod breaks the queue, for `InternalErrors`."""

PreCheck = Callable[[api.Pod], bool]
"""Whether a waiting pod is to be considered at all."""


class EventMoves:
    """Moves waiting pods, and keeps events for the pods in flight."""

    def __init__(
        self,
        queues: SubQueues,
        hints: HintTable,
        requeuer: Requeuer,
        telling_gates: Iterable[TellingGate],
        current_time: Callable[[], int],
        internal_errors: InternalErrors | None = None,
    ) -> None:
        self._internal_errors = internal_errors
        self._queues = queues
        self._hints = hints
        self._requeuer = requeuer
        self._telling_gates = tuple(telling_gates)
        self._current_time = current_time

    @property
    def hears_events(self) -> bool:
        """Whether an event could matter: a pod waits for one, or is in flight and must not miss it."""
        return bool(self._queues.unschedulable.pods) or bool(self._queues.in_flight.pods)

    def waits_for(self, event: ClusterEvent) -> bool:
        """Whether such an event may move a pod that waits."""
        waiting, interest = self._queues.unschedulable, self._hints.interest(event)
        if not waiting.pods or not interest:
            return False
        gates = (gate.name for gate in self._telling_gates if gate.name in interest.plugins)
        return (
            interest.is_wildcard
            or waiting.is_any_rejected_by(interest.plugins)
            or any(waiting.gated_by(gate, None) for gate in gates)
        )

    def event(self, event: ClusterEvent, old: object, new: object, pre_check: PreCheck | None) -> bool:
        """Move the pods that an event may help. An event that nobody registered for is not even remembered."""
        if not self.hears_events:
            return False
        interest = self._hints.interest(event)
        if not interest:
            return False
        waiting = self._queues.unschedulable
        pods = list(waiting.pods) if interest.is_wildcard else waiting.rejected_by(interest.plugins)
        if not interest.is_wildcard:
            pods += self._released(interest, old, new)
        if pre_check is not None:
            pods = [queued for queued in pods if pre_check(queued.pod)]
        return self._move(pods, interest, old, new)

    def update(self, queued: QueuedPodInfo, old: api.Pod, new: api.Pod) -> bool:
        """The pod itself, which waits, has changed: try the reasons in turn until one moves it."""
        now = self._current_time()
        for event in pod_update_events(old, new):
            strategy = self._hints.interest(event).strategy(queued, old, new)
            if self._requeuer.requeue(queued, strategy, event.label, now):
                return True
        return False

    def overdue(self) -> bool:
        """Move the pods that have waited for too long; gated ones included, should their gate have opened unnoticed."""
        now = self._current_time()
        overdue = self._queues.unschedulable.overdue(now)
        for queued in overdue:
            queued.was_flushed = True
            queued.flushed_at = now
        return bool(overdue) and self._move(overdue, self._hints.interest(UNSCHEDULABLE_TIMEOUT), None, None)

    def _released(self, interest: Interest, old: object, new: object) -> list[QueuedPodInfo]:
        """The pods that gates which tell whom an event releases may let pass now."""
        released: list[QueuedPodInfo] = []
        for gate in self._telling_gates:
            if gate.name in interest.plugins:
                released += self._queues.unschedulable.gated_by(gate.name, _told(gate, interest.event, old, new))
        return released

    def _move(self, pods: Iterable[QueuedPodInfo], interest: Interest, old: object, new: object) -> bool:
        now = self._current_time()
        ready = False
        for queued in pods:
            try:
                if queued.gating_plugin and not interest.may_open_gate(queued):
                    continue
                strategy = interest.strategy(queued, old, new)
                if strategy is not Strategy.SKIP:
                    ready |= self._requeue(queued, strategy, interest.event.label, now)
            except Exception as error:
                if self._internal_errors is None:
                    raise
                self._internal_errors.survived(QUEUE, f"Pod {queued.key}", error)
        self._queues.in_flight.record(interest.event, old, new)
        return ready

    def _requeue(self, queued: QueuedPodInfo, strategy: Strategy, event: str, now: int) -> bool:
        """A pod that is still gated stays where it is, which is what happens to most preemptors when a victim goes; it is
        counted as one that left and came back."""
        waiting = self._queues.unschedulable
        if not queued.gating_plugin:
            waiting.remove(queued.key)
            return self._requeuer.requeue(queued, strategy, event, now)
        if self._requeuer.requeue(queued, strategy, event, now):
            return True
        waiting.count_entry(queued, event)
        return False


def _told(gate: TellingGate, event: ClusterEvent, old: object, new: object) -> Collection[str] | None:
    """None: all of them. Better one look too many than pods that are stuck because their plugin is broken."""
    try:
        return gate.released_by(event, old, new)
    except Exception:
        logger.exception("PreEnqueue plugin %s cannot tell whom event %s releases", gate.name, event.label)
        return None
