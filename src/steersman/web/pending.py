# SPDX-License-Identifier: Apache-2.0
"""Waiting pods, grouped by root cause: why they wait, what would wake them, when they are tried next.

Pods that are alike for the scheduler share an explanation: one of them is put to the engine, and the answer is kept for as long
as the last attempt says the same. Groups with the same cause are shown as one.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterator
from time import perf_counter
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.assembly import Scheduler
from steersman.explain import Cause, CauseCode, NodeGroup, Waker, wakers
from steersman.queue import QueuedPodInfo
from steersman.queue.queued_pod import MICROSECONDS, Place
from steersman.sim.node_costs import pool_of
from steersman.web.answers import WebPart, lane_of
from steersman.web.evaluation import NotEvaluated, PodEvaluation, cause_now, evaluated

MOST_PODS: Final = 200
MOST_KEPT: Final = 1024
KEPT_SECONDS: Final = 10.0
"""A cause is found anew after so long, though nothing was tried since: the cluster may have changed."""
REST: Final = 50.0
"""So many times as long as all causes took to be found they are kept at least: who asks all the time takes 2 % of a core."""
QUEUED: Final = "Queued"


class PendingPod(WebPart, frozen=True, omit_defaults=True):
    pod: str
    since: float
    lane: str
    attempts: int
    priority: int
    next_attempt: float | None = msgspec.field()
    nominated_node: str = ""


class PendingGroup(WebPart, frozen=True):
    """Pods that wait for the same reason."""

    id: str
    code: str
    title: str
    sentence: str
    message: str
    plugins: tuple[str, ...]
    count: int
    lanes: dict[str, int]
    oldest: float
    next_attempt: float | None
    wakers: tuple[Waker, ...]
    node_groups: tuple[NodeGroup, ...]
    pods: list[PendingPod]


class PendingReport(WebPart, frozen=True):
    """The group with the oldest pod comes first."""

    now: float
    total: int
    groups: list[PendingGroup]


class RootCause(NamedTuple):
    """A cause with a heading."""

    cause: Cause
    title: str


class _Kept(NamedTuple):
    """A cause, when it was found, and how long that took, in real seconds."""

    found: RootCause
    at: float
    took: float


class RootCauses:
    """Causes of pods that wait, found when they are asked for and kept for a while. In the loop that schedules."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        #: By shape, what stood in the way, and the last attempt's message; the oldest go first.
        self._kept: OrderedDict[tuple[object, ...], _Kept] = OrderedDict()
        #: Seconds that all of them took.
        self._took = 0.0

    def of(self, queued: QueuedPodInfo) -> RootCause:
        if queued.is_gated:
            text = message_of(queued.pod) or f"{queued.gating_plugin} holds the pod back"
            return RootCause(Cause(CauseCode.HELD_BACK, f"{text}."), f"Held back by {queued.gating_plugin}")
        if not queued.attempts and not message_of(queued.pod):
            return RootCause(Cause(CauseCode.FITS, "Has not been tried yet."), "Waits for its turn")
        shape = self._scheduler.cache.shapes.info(queued.pod).shape
        key = queued.profile, shape.fingerprint, queued.rejectors, message_of(queued.pod)
        kept, now = self._kept.get(key), perf_counter()
        seconds = max(KEPT_SECONDS, REST * self._took)
        if kept is None or now - kept.at > seconds:
            self._forget(key)
            found = self._found(queued)
            kept = self._kept[key] = _Kept(found, perf_counter(), perf_counter() - now)
            self._took += kept.took
            self._forget_old(now - 2 * seconds)
        return kept.found

    def _forget_old(self, since: float) -> None:
        """Causes that nobody has asked for since; and the oldest when there are too many."""
        for key, kept in list(self._kept.items()):
            if kept.at >= since and len(self._kept) <= MOST_KEPT:
                break
            self._forget(key)

    def _forget(self, key: tuple[object, ...]) -> None:
        former = self._kept.pop(key, None)
        if former is not None:
            self._took -= former.took

    def _found(self, queued: QueuedPodInfo) -> RootCause:
        try:
            with evaluated(self._scheduler, queued.pod) as found:
                cause = cause_now(found)
                return RootCause(cause, _title(found, cause))
        except NotEvaluated as reason:
            return RootCause(Cause(CauseCode.ERROR, f"{reason}."), "Cannot be looked at")


def _title(found: PodEvaluation, cause: Cause) -> str:
    """A heading: the reasons of the nodes that come nearest, and their pool if they have one."""
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


def message_of(pod: api.Pod) -> str:
    """The message of the last attempt, as the pod's condition has it."""
    return next((one.message for one in pod.status.conditions if one.type == "PodScheduled"), "")


def waiting_pods(scheduler: Scheduler) -> list[QueuedPodInfo]:
    contents = scheduler.queue.contents()
    in_flight = (each for each in contents.in_flight if isinstance(each, QueuedPodInfo))
    return [*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable, *in_flight]


class _Collected:
    """The pods of one group, as they are found."""

    def __init__(self, cause: RootCause) -> None:
        self.cause = cause
        self.pods: list[QueuedPodInfo] = []


def pending_report(scheduler: Scheduler, causes: RootCauses) -> Iterator[PendingReport | None]:
    """None after every pod, then the report: whoever asks may do something else in between."""
    groups: dict[tuple[str, str], _Collected] = {}
    for queued in waiting_pods(scheduler):
        cause = causes.of(queued)
        groups.setdefault((cause.cause.code, cause.title), _Collected(cause)).pods.append(queued)
        yield None
    now = scheduler.clock.now()
    made = [_group(scheduler, key, collected, now) for key, collected in groups.items()]
    made.sort(key=lambda group: (group.oldest, group.id))
    yield PendingReport(now, sum(group.count for group in made), made)


def _group(scheduler: Scheduler, key: tuple[str, str], collected: _Collected, now: float) -> PendingGroup:
    pods = sorted(collected.pods, key=lambda queued: (queued.timestamp, queued.serial))
    shown = [_pod(scheduler, queued, now) for queued in pods]
    shown.sort(key=lambda pod: (pod.since, pod.pod))
    plugins = frozenset().union(*(queued.rejectors for queued in pods))
    profile = scheduler.profiles.get(pods[0].profile)
    moments = [pod.next_attempt for pod in shown if pod.next_attempt is not None]
    is_untried = not pods[0].attempts and not pods[0].is_gated
    return PendingGroup(
        hashlib.sha256("\0".join(key).encode()).hexdigest()[:12],
        QUEUED if is_untried else collected.cause.cause.code,
        collected.cause.title,
        collected.cause.cause.sentence,
        message_of(pods[0].pod),
        tuple(sorted(plugins)),
        len(pods),
        dict(Counter(pod.lane for pod in shown)),
        shown[0].since,
        min(moments, default=None),
        wakers(profile.hints, plugins) if profile is not None else (),
        collected.cause.cause.groups,
        shown[:MOST_PODS],
    )


def _pod(scheduler: Scheduler, queued: QueuedPodInfo, now: float) -> PendingPod:
    since = queued.timestamp if queued.initial_attempt < 0 else queued.initial_attempt
    return PendingPod(
        queued.key,
        wall_time(scheduler, since / MICROSECONDS, now),
        lane_of(queued),
        queued.attempts,
        queued.pod.spec.priority or 0,
        next_attempt_of(scheduler, queued, now),
        queued.pod.status.nominated_node_name,
    )


def next_attempt_of(scheduler: Scheduler, queued: QueuedPodInfo, now: float) -> float | None:
    """On the wall clock; None: only an event wakes it."""
    if queued.place is Place.IN_FLIGHT:
        return now
    moment = scheduler.queue.next_attempt(queued)
    return None if moment is None else wall_time(scheduler, moment, now)


def wall_time(scheduler: Scheduler, monotonic: float, now: float) -> float:
    """A moment of the monotonic clock on the wall clock, which says `now`."""
    return round(now + monotonic - scheduler.clock.monotonic(), 6)
