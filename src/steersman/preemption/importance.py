"""Which of two pods matters more: the one with the higher priority, and among equals the one that has run longer.

Victims are spared and listed in this order; the last of the pick-one rules looks at start times as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from steersman.api import timestamps
from steersman.framework.pod_info import PodInfo


def start_time(pod: PodInfo, now: float) -> float:
    """Seconds since the epoch; a pod that has not started counts as starting now."""
    started = pod.pod.status.start_time
    return now if started is None else timestamps.parse(started)


def by_importance(pods: Iterable[PodInfo], now: float) -> list[PodInfo]:
    """Most important first; equals in the order of `as_equals`."""
    return sorted(as_equals(pods), key=lambda pod: (-pod.priority, start_time(pod, now)))


def as_equals(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods in the order in which they come if nothing else tells them apart: those that have started as they are, then
    the others from the last to the first.

    Upstream gives a pod that has not started the present of the moment at which it compares it, and so takes the later of
    two for the older. (With more than twelve of them on a node its order is none that can be told.)
    """
    every = list(pods)
    waiting = [pod for pod in every if pod.pod.status.start_time is None]
    if not waiting:
        return every
    return [pod for pod in every if pod.pod.status.start_time is not None] + waiting[::-1]
