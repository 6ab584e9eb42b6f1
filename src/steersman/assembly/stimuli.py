# SPDX-License-Identifier: Apache-2.0
"""Stimuli: the things that a host has a scheduler do, one after the other.

Given the same stimuli in the same order, it decides the same.
Beside these, a scheduler is told of watched objects (`ingest`), and the coroutines that it spawned go on. A host whose
scheduler is recorded is given another `Act` than `at_once`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar

T = TypeVar("T")


class Stimulus(StrEnum):
    """Something that a host does to a scheduler."""

    ATTEMPT = "attempt"
    """The next pod is tried, if there is one."""
    BACKOFF = "backoff"
    """Pods whose backoff is over are moved."""
    UNSCHEDULABLE = "unschedulable"
    """Pods that were unschedulable for too long are moved."""
    LOST_PODS = "lost pods"
    """Pods that are nowhere after an internal error are queued again."""
    POSTPONED = "postponed"
    """A slice of the work is done that a postponed attempt waits for."""
    POSTPONED_END = "postponed end"
    """Scheduling ends, and postponed attempts with it."""


class Act(Protocol):
    """Does something to the scheduler, and knows what it is."""

    def __call__(self, stimulus: Stimulus, act: Callable[[], T], /) -> T: ...


def at_once(stimulus: Stimulus, act: Callable[[], T]) -> T:
    """Does it, and nobody takes notice."""
    return act()
