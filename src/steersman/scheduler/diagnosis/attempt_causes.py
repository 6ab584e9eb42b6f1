# SPDX-License-Identifier: Apache-2.0
"""Causes of failed attempts by code, for metrics: `steersman_pending_pods{cause=…}`.

A code is written once per failed attempt, from the diagnosis that the attempt left, and read when
the metric is scraped. Nothing is evaluated for it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from steersman.framework import Status
from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle.decision import Failed, Unschedulable
from steersman.scheduler.diagnosis.cause import CauseCode, code_of_plugin
from steersman.scheduler.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS
from steersman.scheduler.queue import QueuedPodInfo

#: Codes of pods that no longer wait are dropped once there are more than this and twice the queue.
_SPARE_CODES: Final = 1024


class AttemptCauses(AttemptObserver):
    """Cause of every pod whose last attempt failed.

    The diagnosis says which plugin objected first to how many nodes. A node to which a later filter
    objects has passed the filters before it, so the latest objecting filter determines the cause.
    The cause of an `Explanation` calls every filter on every node and is finer: it knows
    fragmentation.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        #: Code by uid.
        self._codes: dict[str, CauseCode] = {}
        #: Position of a plugin among the filters, by profile and plugin.
        self._order = {
            name: {call.name: position for position, call in enumerate(profile.filter)}
            for name, profile in scheduler.profiles.items()
        }

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self._codes[queued.uid] = CauseCode.ERROR if isinstance(decision, Failed) else self._code(decision)
        if len(self._codes) > 2 * self._scheduler.queue.size + _SPARE_CODES:
            self._drop_others()

    def counts(self) -> Counter[CauseCode]:
        """Return how many pods wait for each cause, after a failed attempt or because they are
        gated."""
        self._drop_others()
        counted: Counter[CauseCode] = Counter()
        for queued in self._scheduler.queue.waiting_pods():
            if queued.is_gated:
                counted[CauseCode.HELD_BACK] += 1
            elif queued.uid in self._codes:
                counted[self._codes[queued.uid]] += 1
        return counted

    def _drop_others(self) -> None:
        codes, waiting = self._codes, self._scheduler.queue.waiting_pods()
        self._codes = {queued.uid: codes[queued.uid] for queued in waiting if queued.uid in codes}

    def _code(self, decision: Unschedulable) -> CauseCode:
        order = self._order.get(decision.profile, {})
        statuses = [(order.get(status.plugin, -1), count, status) for status, count in _rejecting_statuses(decision)]
        if not statuses:
            return CauseCode.PLUGIN if decision.diagnosis.all_nodes else CauseCode.NO_NODES
        return _code_of(max(statuses, key=lambda each: each[:2])[2])


def _rejecting_statuses(decision: Unschedulable) -> list[tuple[Status, int]]:
    """Return the statuses with which nodes, or the pod as a whole, were rejected, and their
    counts."""
    statuses = decision.diagnosis.statuses
    found = [(status, count) for status, count in statuses.counts() if status.plugin]
    if not found and statuses.absent is not None and statuses.absent.plugin:
        found = [(statuses.absent, 1)]
    return found


def _code_of(status: Status) -> CauseCode:
    if status.reasons == (REASON_TOO_MANY_PODS,):
        return CauseCode.POD_LIMIT
    return code_of_plugin(status.plugin)
