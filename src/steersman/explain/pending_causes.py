# SPDX-License-Identifier: Apache-2.0
"""Cached causes of the waiting pods of a running scheduler, by which `sandbox.web.pending` groups.

Pods with equal specs share a cause: one of them is evaluated, and the result is reused while their
last attempts have the same outcome. The cause is that of `steersman explain`.
"""

from __future__ import annotations

from collections import OrderedDict
from time import perf_counter
from typing import Final, NamedTuple

from steersman import api
from steersman.explain.fixes import gates_text
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import Cause, CauseCode, NotEvaluated, PodEvaluation, cause_now, evaluated
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation import pool_of

SCHEDULING_GATES: Final = "SchedulingGates"
MAX_CACHED: Final = 1024
MIN_CACHE_SECONDS: Final = 10.0
"""Causes expire after this time without another attempt: the cluster may have changed."""
CACHE_FACTOR: Final = 50.0
"""Minimum reuse of causes, in multiples of their computation time: permanent polling takes 2 % of a
core."""


class PendingCause(NamedTuple):
    """A cause and its heading."""

    cause: Cause
    title: str


class _Cached(NamedTuple):
    """A cause, when it was computed, and how long that took, in real seconds."""

    found: PendingCause
    at: float
    took: float


class PendingCauses:
    """Cached causes of waiting pods. Call it from the scheduling thread."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        #: (Spec, rejecting plugins, message of the last attempt) → cause, oldest first.
        self._cached: OrderedDict[tuple[object, ...], _Cached] = OrderedDict()
        #: Seconds that the cached causes took together.
        self._took = 0.0

    def cause_of(self, queued: QueuedPodInfo) -> PendingCause:
        """Return the cause for which a pod of the queue waits."""
        if queued.is_gated:
            sentence = held_back_sentence(queued.pod, queued.gating_plugin, message_of(queued.pod))
            return PendingCause(Cause(CauseCode.HELD_BACK, sentence), f"Held back by {queued.gating_plugin}")
        if not queued.attempts and not message_of(queued.pod):
            return PendingCause(Cause(CauseCode.FITS, "The pod has not been tried yet."), "Waits for its turn")
        shape = self._scheduler.cache.shapes.info(queued.pod).shape
        key = queued.profile, shape.fingerprint, queued.rejectors, message_of(queued.pod)
        cached, now = self._cached.get(key), perf_counter()
        seconds = max(MIN_CACHE_SECONDS, CACHE_FACTOR * self._took)
        if cached is None or now - cached.at > seconds:
            self._drop(key)
            found = self._evaluate(queued)
            cached = self._cached[key] = _Cached(found, perf_counter(), perf_counter() - now)
            self._took += cached.took
            self._drop_old(now - 2 * seconds)
        return cached.found

    def _drop_old(self, since: float) -> None:
        """Drop causes computed before `since`, and the oldest ones if there are too many."""
        for key, cached in list(self._cached.items()):
            if cached.at >= since and len(self._cached) <= MAX_CACHED:
                break
            self._drop(key)

    def _drop(self, key: tuple[object, ...]) -> None:
        former = self._cached.pop(key, None)
        if former is not None:
            self._took -= former.took

    def _evaluate(self, queued: QueuedPodInfo) -> PendingCause:
        try:
            with evaluated(self._scheduler, queued.pod) as found:
                cause = cause_now(found)
                return PendingCause(cause, _title(found, cause))
        except NotEvaluated as reason:
            return PendingCause(Cause(CauseCode.ERROR, f"{reason}."), "Cannot be evaluated")


def held_back_sentence(pod: api.Pod, plugin: str, message: str) -> str:
    """Return which plugin holds the pod back, why, and which controllers remove its gates."""
    owner = f" {gates_text(pod.spec.scheduling_gates)}." if plugin == SCHEDULING_GATES else ""
    why = f": {message.removesuffix('.')}" if message else ""
    return f"{plugin} holds the pod back{why}.{owner}"


def message_of(pod: api.Pod) -> str:
    """Return the message of the last attempt, from the pod's condition."""
    return next((one.message for one in pod.status.conditions if one.type == api.POD_SCHEDULED), "")


def _title(found: PodEvaluation, cause: Cause) -> str:
    """Return a heading: the reasons of the nearest nodes, and their common pool if any."""
    if cause.code == CauseCode.FITS:
        return "Fits now, waits for its next attempt"
    if not cause.groups:
        return cause.sentence.rstrip(".")
    decisive = cause.groups[0]
    table = found.scheduler.cache.nodes
    rows = [table.rows[name] for name in decisive.examples if name in table.rows]
    reasons = _reasons(found, decisive.plugin, rows[0]) if rows else ""
    pools = {pool_of(node) for row in rows if (node := table.nodes[row]) is not None}
    pool = pools.pop() if len(pools) == 1 else ""
    is_part = decisive.count < table.node_count
    heading = reasons or decisive.objection
    return f"{heading} in pool {pool}" if pool and is_part else heading


def _reasons(found: PodEvaluation, plugin: str, row: int) -> str:
    for status, rows in found.objections().get(plugin, {}).items():
        if row in rows:
            return ", ".join(status.reasons)
    return ""
