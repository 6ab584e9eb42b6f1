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
    """Most important first; equals keep their order."""
    return sorted(pods, key=lambda pod: (-pod.priority, start_time(pod, now)))
