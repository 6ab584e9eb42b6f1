"""Views of the whole queue for people, reports and tests; nothing in the scheduling path uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from steersman import api
from steersman.queue.in_flight import RecordedEvent
from steersman.queue.queued_pod import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """Sizes of everything, cheap to get."""

    active: int
    backoff: int
    error_backoff: int
    unschedulable: int
    """Waiting pods that no PreEnqueue plugin gates."""
    gated: int
    in_flight: int
    in_flight_events: int
    nominated: int
    scheduling_cycle: int


@dataclass(frozen=True, slots=True)
class QueueContents:
    """Every pod in the queue, as it is now."""

    active: list[QueuedPodInfo]
    """In the order in which pops will return them."""
    backoff: list[QueuedPodInfo]
    """In the order in which pops will take them when activeQ is empty."""
    error_backoff: list[QueuedPodInfo]
    """By end of backoff."""
    unschedulable: list[QueuedPodInfo]
    """Gated pods included; who will have waited too long first comes first."""
    in_flight: list[QueuedPodInfo | RecordedEvent]
    """Pops and events in the order in which they happened."""


class PendingPods(NamedTuple):
    """The pods that wait for an attempt, with one line on where they wait."""

    pods: list[api.Pod]
    summary: str
