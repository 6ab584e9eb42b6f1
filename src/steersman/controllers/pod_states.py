# SPDX-License-Identifier: Apache-2.0
"""Questions of controllers about a pod: does it count as a replica, is it ready, since when, and is it available yet?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api import IntOrPercent, Pod, timestamps

READY: Final = "Ready"
TERMINAL_PHASES: Final = ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    """Whether the pod counts as a replica: it neither has ended nor is to go."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in TERMINAL_PHASES


def is_terminating(pod: Pod) -> bool:
    """Whether the pod is to go and has not ended."""
    return pod.metadata.deletion_timestamp is not None and pod.status.phase not in TERMINAL_PHASES


def is_ready(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == READY:
            return condition.status == "True"
    return False


def ready_since(pod: Pod) -> str | None:
    """When a ready pod became so; None of others, and of those that do not say."""
    for condition in pod.status.conditions:
        if condition.type == READY and condition.status == "True":
            return condition.last_transition_time
    return None


def available_at(pod: Pod, min_ready_seconds: int) -> float | None:
    """The moment from which on a ready pod counts as available; None if it will not be without becoming ready first."""
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
    """How long it takes until the next of the ready pods counts as available; None if no other will."""
    moments = (available_at(pod, min_ready_seconds) for pod in pods)
    return min((moment - now for moment in moments if moment is not None and moment > now), default=None)


def scaled(amount: IntOrPercent | None, total: int, *, rounds_up: bool) -> int:
    """The number itself, or its share of `total`; 0 for what is neither."""
    if amount is None or isinstance(amount, int):
        return amount or 0
    share = amount.removesuffix("%")
    if share == amount or not share.isdecimal():
        return 0
    hundredths = int(share) * total
    return -(-hundredths // 100) if rounds_up else hundredths // 100
