"""The numbers of the configuration that the queue works with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Durations in seconds."""

    initial_backoff: float = 1.0
    """After the first failure; every further failure doubles it."""
    max_backoff: float = 10.0
    """Where the doubling ends; 0 switches backoff off."""
    max_in_unschedulable: float = 300.0
    """A pod that has been unschedulable for longer is tried again without a reason."""


DEFAULT_QUEUE_SETTINGS = QueueSettings()
