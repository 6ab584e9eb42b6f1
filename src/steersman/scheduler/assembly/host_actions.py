# SPDX-License-Identifier: Apache-2.0
"""The actions of a host on a scheduler, for recording.

The same actions in the same order lead to the same decisions. In addition, a scheduler gets changes
of watched objects (`ingest`), and its background coroutines run. To record a scheduler, its host
gets another `RunAction` than `run_directly`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar

T = TypeVar("T")


class HostAction(StrEnum):
    """An action of a host on a scheduler."""

    ATTEMPT = "attempt"
    """Schedule the next pod."""
    BACKOFF = "backoff"
    """Move pods whose backoff is over."""
    UNSCHEDULABLE = "unschedulable"
    """Move pods that were unschedulable for too long."""
    LOST_PODS = "lost pods"
    """Requeue pods that an internal error has lost."""
    POSTPONED = "postponed"
    """Run a slice of the work of a postponed attempt."""
    POSTPONED_END = "postponed end"
    """End scheduling and postponed attempts."""


class RunAction(Protocol):
    """Runs an action on the scheduler, and may record it."""

    def __call__(self, stimulus: HostAction, act: Callable[[], T], /) -> T: ...


def run_directly(stimulus: HostAction, act: Callable[[], T]) -> T:
    """Run the action without recording it."""
    return act()
