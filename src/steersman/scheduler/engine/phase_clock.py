# SPDX-License-Identifier: Apache-2.0
"""Durations within an evaluation, for metrics. `observe.attempt_metrics` sets `is_sampled` before a
cycle and reads the durations after it; `columnar` and `live_plugins` call the clock.

Vectorised evaluation has no loop over plugins. In a sampled cycle the clock updates the column of
each plugin before the evaluation combines them, so that its time is attributed to the plugin and
the work is done once. Only scores that depend on the feasible nodes are computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from time import perf_counter

from steersman.framework import ClusterFilterKernel, ClusterScoreKernel, CycleAborted, Feasible, PodInfo
from steersman.scheduler.engine.columns import FragmentColumn, ScoreColumn
from steersman.scheduler.engine.evaluation import Answer
from steersman.scheduler.engine.row_totals import FilterColumn
from steersman.scheduler.engine.signatures import SignatureEntry, Signatures
from steersman.scheduler.runtime.profile import PreFilterCall

Ask = Callable[[PreFilterCall], Answer]


class PhaseClock:
    """Durations of the latest evaluation by phase and, if it is sampled, by plugin."""

    def __init__(self, report: Callable[[str, str, object, float], None]) -> None:
        """`report` receives plugin, extension point, the plugin's result and seconds."""
        self._report = report
        self.is_sampled = False
        self.sign_seconds = 0.0
        self.pre_filter_seconds = 0.0
        self._pre_filter_began = 0.0

    def find_signature(self, signatures: Signatures, pod: PodInfo) -> SignatureEntry:
        began = perf_counter()
        entry = signatures.get(pod)
        self.sign_seconds, self.pre_filter_seconds = perf_counter() - began, 0.0
        if self.is_sampled:
            self._time_kernels(entry)
        return entry

    def timed_pre_filter(self, ask: Ask, fixed: Container[str]) -> Ask:
        """Begin PreFilter; return `ask`, with each plugin timed if the evaluation is sampled.
        `fixed` are plugins with cached results, which take no time."""
        self._pre_filter_began = perf_counter()
        return partial(self._time_pre_filter, ask, fixed) if self.is_sampled else ask

    def _time_pre_filter(self, ask: Ask, fixed: Container[str], call: PreFilterCall) -> Answer:
        began = 0.0 if call.name in fixed else perf_counter()
        answer = ask(call)
        self._report(call.name, "PreFilter", answer[1], began and perf_counter() - began)
        return answer

    def end_pre_filter(self) -> None:
        self.pre_filter_seconds = perf_counter() - self._pre_filter_began

    def _time_kernels(self, entry: SignatureEntry) -> None:
        report, before = self._report, perf_counter()
        for step, part in entry.filters:
            if part is not None:
                _update_filter(part)
                report(step.name, "Filter", None, -before + (before := perf_counter()))
        feasible = entry.signature.feasible()
        before = perf_counter()
        for score, scores in entry.scores if feasible.count > 1 else ():
            if scores is not None:
                _update_score(scores, score.weight, feasible)
                report(score.name, "Score", None, -before + (before := perf_counter()))


def _update_filter(part: FilterColumn | ClusterFilterKernel) -> None:
    if isinstance(part, FragmentColumn):
        part.sync()
    else:
        part.rejected()


def _update_score(part: ScoreColumn | ClusterScoreKernel, weight: int, feasible: Feasible) -> None:
    if isinstance(part, FragmentColumn):
        part.sync()
    elif not part.skipped(feasible):
        try:
            part.weighted(feasible, weight)
        except CycleAborted:
            return  # the evaluation itself raises it if the score counts
