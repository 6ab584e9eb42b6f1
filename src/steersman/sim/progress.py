# SPDX-License-Identifier: Apache-2.0
"""The progress of a run, told to whoever waits for it, and the work that follows every decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from steersman.cycle.decision import Decision
from steersman.sim.driver import Driver
from steersman.sim.recorder import Recorder

_PROGRESS_EVERY: Final = 250


class Progress(NamedTuple):
    """How far a run has got."""

    scheduled: int
    #: Pods that came without a node.
    pods: int
    #: Virtual time since the start.
    seconds: float


def decision_observer(
    driver: Driver, recorder: Recorder, pods: int, on_progress: Callable[[Progress], None] | None
) -> Callable[[Decision], None] | None:
    """The work after every decision of a run; None, and nothing is lost by it, for most runs."""
    if on_progress is None:
        return recorder.decided if recorder.is_watching else None
    told = driver.decisions

    def note(decision: Decision) -> None:
        nonlocal told
        recorder.decided(decision)
        if driver.decisions - told >= _PROGRESS_EVERY:
            told = driver.decisions
            on_progress(Progress(len(driver.writer.placed_at), pods, driver.now))

    return note
