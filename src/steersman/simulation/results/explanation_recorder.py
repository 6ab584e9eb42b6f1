# SPDX-License-Identifier: Apache-2.0
"""Explanations in a simulation: recorded during the cycle, or created from the present state for a
pending pod.

`decision_observer` also reports the progress of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from steersman import api
from steersman.framework import CycleAborted, PodInfo
from steersman.scheduler.assembly import EvaluationObserver
from steersman.scheduler.cycle import Decision
from steersman.scheduler.diagnosis import (
    Explanation,
    Outcome,
    decided,
    detail_preemptions,
    explain,
    with_earlier_preemption,
    without_cycle,
)
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.runtime import Profile
from steersman.scheduler.state import LiveNodes
from steersman.simulation.results.placements import REASON_ERROR, REASON_NOT_TRIED, REASON_UNSCHEDULABLE, Placement
from steersman.simulation.virtual_time.driver import Driver

_replace = msgspec.structs.replace
_AFTER_A_CYCLE = (REASON_UNSCHEDULABLE, REASON_ERROR, REASON_NOT_TRIED)


_PROGRESS_EVERY: Final = 250
"""Decisions between two reports of progress."""


class Progress(NamedTuple):
    """The progress of a run."""

    scheduled: int
    #: Pods added without a node.
    pods: int
    #: Virtual time since the start.
    seconds: float


class ExplanationRecorder:
    """Records the last explanation of each watched pod."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        #: The pods whose cycles are watched.
        self.names: set[str] = set()
        self._open: dict[str, Explanation] = {}
        self.explanations: dict[str, Explanation] = {}

    @property
    def is_watching(self) -> bool:
        return bool(self.names)

    def watch(self, pods: Iterable[str]) -> None:
        """Record these pods from now on."""
        was_watching = self.is_watching
        self.names.update(pods)
        if self.is_watching and not was_watching:
            self._driver.scheduler.observe(EvaluationObserver(self._observe))
            detail_preemptions(self._driver.scheduler.profiles.values())

    def decision_observer(
        self, pods: int = 0, on_progress: Callable[[Progress], None] | None = None
    ) -> Callable[[Decision], None] | None:
        """Return an observer of decisions for a run with `pods` pods without a node; None if there
        is nothing to observe."""
        if on_progress is None:
            return self.decided if self.is_watching else None
        driver = self._driver
        reported = driver.decisions

        def note(decision: Decision) -> None:
            nonlocal reported
            self.decided(decision)
            if driver.decisions - reported >= _PROGRESS_EVERY:
                reported = driver.decisions
                on_progress(Progress(len(driver.writer.placed_at), pods, driver.now))

        return note

    def _observe(self, pod: PodInfo, evaluation: Evaluation) -> None:
        if pod.key in self.names:
            profile = self._driver.scheduler.profiles[pod.scheduler_name]
            self._open[pod.key] = explain(
                profile, pod, evaluation, LiveNodes(self._driver.scheduler.cache.nodes), self._driver.now
            )

    def decided(self, decision: Decision) -> None:
        pod = decision.pod
        if pod.key in self.names:
            begun = self._open.pop(pod.key, None) or without_cycle(pod.key, pod.scheduler_name, "", self._driver.now)
            explained, earlier = decided(begun, decision), self.explanations.get(pod.key)
            if earlier is not None:
                explained = with_earlier_preemption(explained, earlier)
            self.explanations[pod.key] = explained


def explain_pending(driver: Driver, pod: api.Pod, placement: Placement) -> Explanation:
    """Return an explanation of a pending pod as if it were tried now; nothing changes."""
    scheduler = driver.scheduler
    info = scheduler.cache.shapes.info(pod)
    if placement.reason not in _AFTER_A_CYCLE or info.scheduler_name not in scheduler.profiles:
        return without_cycle(info.key, info.scheduler_name, placement.message, driver.now)
    profile = scheduler.profiles[info.scheduler_name]
    try:
        explanation = _explain_now(driver, profile, info)
    except CycleAborted as abort:
        broken = without_cycle(info.key, profile.name, abort.status.message, driver.now)
        return _replace(broken, outcome=Outcome.ERROR)
    if explanation.outcome is Outcome.ERROR:
        return explanation
    if any(node.fits for node in explanation.nodes):
        return _replace(explanation, message=f"fits now; the last attempt ended with: {placement.message}")
    return _replace(explanation, outcome=Outcome.UNSCHEDULABLE, message=placement.message)


def _explain_now(driver: Driver, profile: Profile, pod: PodInfo) -> Explanation:
    scheduler = driver.scheduler
    evaluation = scheduler.cycle.preview_all_nodes(profile, pod)
    return explain(profile, pod, evaluation, LiveNodes(scheduler.cache.nodes), driver.now)
