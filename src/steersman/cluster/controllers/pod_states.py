# SPDX-License-Identifier: Apache-2.0
"""Pod states that controllers check: active, ready, available."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api import FINISHED_PHASES, IntOrPercent, Pod, timestamps

READY: Final = "Ready"


def is_active(pod: Pod) -> bool:
    """Return whether the pod counts as a replica: neither finished nor terminating."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in FINISHED_PHASES


def is_terminating(pod: Pod) -> bool:
    """Return whether the pod is terminating and not finished."""
    return pod.metadata.deletion_timestamp is not None and pod.status.phase not in FINISHED_PHASES


def is_ready(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == READY:
            return condition.status == "True"
    return False


def ready_since(pod: Pod) -> str | None:
    """Return the time a ready pod became ready; None if it is not ready or the time is unknown."""
    for condition in pod.status.conditions:
        if condition.type == READY and condition.status == "True":
            return condition.last_transition_time
    return None


def available_at(pod: Pod, min_ready_seconds: int) -> float | None:
    """Return the time from which a ready pod is available; None if it is not ready or the time is
    unknown."""
    if not is_ready(pod):
        return None
    if not min_ready_seconds:
        return 0.0
    since = ready_since(pod)
    return timestamps.parse(since) + min_ready_seconds if since else None


def is_available(pod: Pod, min_ready_seconds: int, now: float) -> bool:
    moment = available_at(pod, min_ready_seconds)
    return moment is not None and moment <= now


def seconds_to_next_available(pods: Iterable[Pod], min_ready_seconds: int, now: float) -> float | None:
    """Return the seconds until another ready pod becomes available, or None."""
    moments = (available_at(pod, min_ready_seconds) for pod in pods)
    return min((moment - now for moment in moments if moment is not None and moment > now), default=None)


def scaled(amount: IntOrPercent | None, total: int, *, rounds_up: bool) -> int:
    """Return a number, or a percentage of `total`; 0 if invalid."""
    if amount is None or isinstance(amount, int):
        return amount or 0
    share = amount.removesuffix("%")
    if share == amount or not share.isdecimal():
        return 0
    hundredths = int(share) * total
    return -(-hundredths // 100) if rounds_up else hundredths // 100
