# SPDX-License-Identifier: Apache-2.0
"""Where a pod waits in the queue of a simulation: in which sub-queue, who is ahead, and when it is tried next."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from steersman import api
from steersman.scheduler.queue import MICROSECONDS, NEVER, Place, QueuedPodInfo, sort_key_of
from steersman.simulation.simulation import Simulation

GATED_QUEUE: Final = "gated"
"""The name where pods are that are held back, and wait in no queue."""


class QueuePlace(msgspec.Struct, frozen=True):
    """A pod in the queue."""

    #: activeQ, backoffQ, unschedulable or gated.
    queue: str
    attempts: int
    #: By the order of QueueSort among all pods that wait and are not held back, were all of them ready; 1 is next.
    position: int
    waiting: int
    #: `namespace/name` of those ahead, the first first.
    ahead: tuple[str, ...]
    #: Seconds from now until the pod is tried again, whatever happens; None: it is never tried by the passing of time alone.
    latest_attempt: float | None


def find_queue_place(simulation: Simulation, key: str, other_schedulers: Collection[str] = ()) -> QueuePlace | None:
    """The place of the pod `namespace/name`; None: it is not in the queue. Each of the other schedulers has its own queue."""
    scheduler = simulation.scheduler
    queued = scheduler.queue.get(key)
    if queued is None:
        return None
    contents = scheduler.queue.contents()
    waiting = [
        other
        for other in (*contents.active, *contents.backoff, *contents.error_backoff, *contents.unschedulable)
        if not other.is_gated and _share_queue(queued, other, other_schedulers)
    ]
    sort_key = sort_key_of(next(iter(scheduler.profiles.values())).queue_sort)
    ordered = [other.key for other in sorted(waiting, key=lambda other: (*sort_key(other), other.serial))]
    ahead = ordered[: ordered.index(key)] if key in ordered else ordered
    now = round(scheduler.clock.monotonic() * MICROSECONDS)
    due = _due(queued, round(scheduler.options.max_in_unschedulable * MICROSECONDS))
    return QueuePlace(
        _queue_name(queued),
        queued.attempts,
        len(ahead) + 1,
        len(ordered),
        tuple(ahead),
        None if due is None else max(0, due - now) / MICROSECONDS,
    )


def rejecting_plugins(simulation: Simulation, pod: str) -> frozenset[str]:
    """Return the plugins because of which the pod `namespace/name` is pending, by its last attempt."""
    queued = simulation.scheduler.queue.get(pod)
    return frozenset() if queued is None else frozenset(queued.unschedulable_plugins)


def terminating_pods(simulation: Simulation) -> list[api.Pod]:
    """The pods with a node that are being deleted: their room becomes free."""
    pods = simulation.cluster.objects(api.Pod).values()
    return [pod for pod in pods if pod.spec.node_name and pod.metadata.deletion_timestamp is not None]


def _share_queue(one: QueuedPodInfo, other: QueuedPodInfo, apart: Collection[str]) -> bool:
    names = {one.pod.spec.scheduler_name, other.pod.spec.scheduler_name}
    return len(names) == 1 or names.isdisjoint(apart)


def _queue_name(queued: QueuedPodInfo) -> str:
    if queued.is_gated:
        return GATED_QUEUE
    return {Place.ACTIVE: "activeQ", Place.UNSCHEDULABLE: "unschedulable"}.get(queued.place, "backoffQ")


def _due(queued: QueuedPodInfo, longest_stay: int) -> int | None:
    """When the pod is tried by the passing of time alone, in microseconds; None: never."""
    if queued.is_gated:
        return None
    if queued.place is Place.UNSCHEDULABLE:
        return max(queued.timestamp, queued.flushed_at) + longest_stay
    return 0 if queued.backoff_until == NEVER else queued.backoff_until
