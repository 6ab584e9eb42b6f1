# SPDX-License-Identifier: Apache-2.0
"""Page of waiting pods, grouped by cause: why they wait, which events requeue them, when they are
tried next.

`explain.pending_causes` has the cause of each pod. Groups with the same heading are shown as one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.explain import PendingCause, PendingCauses, message_of
from steersman.sandbox.web.answers import WebPart, sub_queue_of
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import NodeGroup, RequeueEvents, requeue_events
from steersman.scheduler.queue import MICROSECONDS, Place, QueuedPodInfo

MAX_PODS: Final = 200
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
    """Pods that wait for the same cause."""

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
    wakers: tuple[RequeueEvents, ...]
    node_groups: tuple[NodeGroup, ...]
    pods: list[PendingPod]


class PendingReport(WebPart, frozen=True):
    """Groups of waiting pods; the group with the oldest pod comes first."""

    now: float
    total: int
    groups: list[PendingGroup]


def waiting_pods(scheduler: Scheduler) -> list[QueuedPodInfo]:
    contents = scheduler.queue.contents()
    in_flight = (each for each in contents.in_flight if isinstance(each, QueuedPodInfo))
    return [*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable, *in_flight]


class _Collected:
    """Pods of one group while the report is made."""

    def __init__(self, cause: PendingCause) -> None:
        self.cause = cause
        self.pods: list[QueuedPodInfo] = []


def pending_report(scheduler: Scheduler, causes: PendingCauses) -> Iterator[PendingReport | None]:
    """Yield None after every pod, so that the caller can do other work, then the report."""
    groups: dict[tuple[str, str], _Collected] = {}
    for queued in waiting_pods(scheduler):
        cause = causes.cause_of(queued)
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
        requeue_events(profile.hints, plugins) if profile is not None else (),
        collected.cause.cause.groups,
        shown[:MAX_PODS],
    )


def _pod(scheduler: Scheduler, queued: QueuedPodInfo, now: float) -> PendingPod:
    since = queued.timestamp if queued.initial_attempt < 0 else queued.initial_attempt
    return PendingPod(
        queued.key,
        wall_time(scheduler, since / MICROSECONDS, now),
        sub_queue_of(queued),
        queued.attempts,
        queued.pod.spec.priority or 0,
        next_attempt_of(scheduler, queued, now),
        queued.pod.status.nominated_node_name,
    )


def next_attempt_of(scheduler: Scheduler, queued: QueuedPodInfo, now: float) -> float | None:
    """Return the time of the next attempt on the wall clock; None if only an event leads to one."""
    if queued.place is Place.IN_FLIGHT:
        return now
    moment = scheduler.queue.next_attempt(queued)
    return None if moment is None else wall_time(scheduler, moment, now)


def wall_time(scheduler: Scheduler, monotonic: float, now: float) -> float:
    """Convert a time of the monotonic clock to the wall clock, which shows `now`."""
    return round(now + monotonic - scheduler.clock.monotonic(), 6)
