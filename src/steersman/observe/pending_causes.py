# SPDX-License-Identifier: Apache-2.0
"""Why pods wait, by reason code: `steersman_pending_pods{cause=…}`, counted from diagnoses that are at hand.

A failed attempt leaves its diagnosis: which plugin objected first to how many nodes. A node to which a later filter objects
has passed the ones before it, so the latest filter that objected is the one that decides. `steersman explain` asks every
plugin about every node and tells more apart, such as fragmentation; nothing is evaluated for a metric.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from steersman.assembly import AttemptObserver, Scheduler
from steersman.cycle.decision import Failed, Unschedulable
from steersman.explain import CauseCode, code_of_plugin
from steersman.framework.status import Status
from steersman.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS
from steersman.queue import QueuedPodInfo

_SPARE: Final = 1024
"""So many codes may be kept of pods that do not wait any more, beside as many as there are pods that do."""


class PendingCauses(AttemptObserver):
    """The code of every pod whose last attempt failed. Written once per failed attempt, read when somebody scrapes."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._codes: dict[str, CauseCode] = {}
        #: By profile and plugin, how late the plugin filters.
        self._order = {
            name: {call.name: position for position, call in enumerate(profile.filter)}
            for name, profile in scheduler.profiles.items()
        }

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._codes[queued.uid] = CauseCode.ERROR if isinstance(decision, Failed) else self._code(decision)
        if len(self._codes) > 2 * self._scheduler.queue.size + _SPARE:
            self._forget_others()

    def counts(self) -> Counter[CauseCode]:
        """How many pods wait for each cause: those that were tried in vain, and those that are held back."""
        self._forget_others()
        counted: Counter[CauseCode] = Counter()
        for queued in self._scheduler.queue.waiting_pods():
            if queued.is_gated:
                counted[CauseCode.HELD_BACK] += 1
            elif queued.uid in self._codes:
                counted[self._codes[queued.uid]] += 1
        return counted

    def _forget_others(self) -> None:
        codes, waiting = self._codes, self._scheduler.queue.waiting_pods()
        self._codes = {queued.uid: codes[queued.uid] for queued in waiting if queued.uid in codes}

    def _code(self, decision: Unschedulable) -> CauseCode:
        order = self._order.get(decision.profile, {})
        statuses = [(order.get(status.plugin, -1), count, status) for status, count in _counts(decision)]
        if not statuses:
            return CauseCode.PLUGIN if decision.diagnosis.all_nodes else CauseCode.NO_NODES
        return _code_of(max(statuses, key=lambda each: each[:2])[2])


def _counts(decision: Unschedulable) -> list[tuple[Status, int]]:
    """The statuses that nodes, or the pod as a whole, were rejected with."""
    statuses = decision.diagnosis.statuses
    found = [(status, count) for status, count in statuses.counts() if status.plugin]
    if not found and statuses.absent is not None and statuses.absent.plugin:
        found = [(statuses.absent, 1)]
    return found


def _code_of(status: Status) -> CauseCode:
    if status.reasons == (REASON_TOO_MANY_PODS,):
        return CauseCode.POD_LIMIT
    return code_of_plugin(status.plugin)
