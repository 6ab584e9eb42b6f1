# SPDX-License-Identifier: Apache-2.0
"""Counts and durations of plugin calls; `attempt_metrics` has those of one scheduler.

Counts (plugin_evaluation_total) are collected per pod template, a few numbers per attempt, and
exported on scrapes. As upstream, plugins whose PreFilter or PreScore returns Skip do not count, and
with fewer than two feasible nodes nothing is scored. Which plugins skip a template is determined
once and then periodically, because it costs more than counting.

Durations are measured by wrapping the calls of a `runtime.Profile`; an unwrapped profile costs
nothing. The result has the same plugins in the same order and reports to a `Stopwatch`. Columnar
filters and scores are timed by `engine.phase_clock`; PreEnqueue and hints by the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.framework import (
    ClusterEvent,
    Code,
    ColumnarFilter,
    ColumnarScore,
    CycleAborted,
    HintFn,
    PermitResult,
    PodInfo,
    QueueingHint,
    Status,
)
from steersman.kube.observe.metrics import Metrics
from steersman.scheduler.engine import Evaluation
from steersman.scheduler.queue import CountingQueueMetrics, GateCheck, QueuedPodInfo
from steersman.scheduler.runtime import (
    ApplicableCalls,
    FilterCall,
    PreBindCall,
    Profile,
    RawCall,
    ScoreCall,
    StatusCall,
)

#: Attempts after which the skipping plugins of a template are determined again.
RECHECK_ATTEMPTS: Final = 1024
MAX_TEMPLATES: Final = 1024
_NO_PLUGINS: Final[frozenset[str]] = frozenset()
SUCCESS: Final = Code.SUCCESS.label
FAILED: Final = Code.ERROR.label
#: Value of the label `hint` for a hint that raised.
HINT_FAILED: Final = "Error"

Run = Callable[..., Any]
CallT = TypeVar("CallT", bound=RawCall | StatusCall)
SampledT = TypeVar("SampledT", bound=StatusCall | FilterCall | ScoreCall)


# -- counts ------------------------------------------------------------------------------------------------------------


class TemplateAttempts:
    """Number of attempts with pods of one template, and the plugins that skip it."""

    __slots__ = ("attempts", "profile", "score_skipped", "scored", "scored_nodes", "skipped")

    def __init__(self, profile: str, skipped: frozenset[str], score_skipped: frozenset[str] | None = None) -> None:
        self.profile = profile
        self.skipped = skipped
        #: None until the first attempt that scored nodes.
        self.score_skipped = score_skipped
        self.attempts = 0
        #: Number of attempts that scored nodes, and total number of scored nodes.
        self.scored = 0
        self.scored_nodes = 0

    def count(self, evaluation: Evaluation) -> None:
        self.attempts += 1
        feasible = evaluation.feasible_count
        if feasible > 1:
            self.scored += 1
            self.scored_nodes += feasible
            if self.score_skipped is None:
                self.score_skipped = _without_scores(evaluation)

    def add(self, other: TemplateAttempts) -> None:
        self.attempts += other.attempts
        self.scored += other.scored
        self.scored_nodes += other.scored_nodes

    @property
    def key(self) -> tuple[str, frozenset[str], frozenset[str]]:
        return self.profile, self.skipped, self.score_skipped or _NO_PLUGINS


class Evaluations:
    """Counts since the last export. Bounded, even if there are no exports."""

    def __init__(self) -> None:
        self._by_shape: dict[object, TemplateAttempts] = {}
        #: Counts of evicted templates, aggregated by skipping plugins.
        self._others: dict[tuple[str, frozenset[str], frozenset[str]], TemplateAttempts] = {}

    def count(self, pod: PodInfo, evaluation: Evaluation) -> None:
        tally = self._by_shape.get(pod.shape.token)
        if tally is None or tally.attempts >= RECHECK_ATTEMPTS:
            tally = self._sample(pod, evaluation)
        tally.count(evaluation)

    def _sample(self, pod: PodInfo, evaluation: Evaluation) -> TemplateAttempts:
        if len(self._by_shape) >= MAX_TEMPLATES:
            self._merge(self._by_shape.values())
            self._by_shape.clear()
        known = self._by_shape.get(pod.shape.token)
        if known is not None:
            self._merge([known])
        tally = self._by_shape[pod.shape.token] = TemplateAttempts(
            pod.scheduler_name, frozenset(evaluation.pre_filter.skipped)
        )
        return tally

    def _merge(self, tallies: Iterable[TemplateAttempts]) -> None:
        for tally in tallies:
            self._others.setdefault(tally.key, TemplateAttempts(*tally.key)).add(tally)

    def export(self, metrics: Metrics, profiles: Mapping[str, Profile], nodes: int) -> None:
        """Add the counts since the last call; the cluster has `nodes` nodes."""
        self._merge(self._by_shape.values())
        for tally in self._others.values():
            for plugin, point, times in _asked(profiles[tally.profile], tally, nodes):
                metrics.evaluations[plugin, point, tally.profile].inc(times)
        self._others.clear()
        self._by_shape.clear()


def _asked(profile: Profile, tally: TemplateAttempts, nodes: int) -> Iterator[tuple[str, str, int]]:
    skipped, score_skipped = tally.skipped, tally.score_skipped or _NO_PLUGINS
    yield from ((call.name, "PreFilter", tally.attempts) for call in profile.pre_filter if call.name not in skipped)
    yield from ((call.name, "Filter", nodes * tally.attempts) for call in profile.filter if call.name not in skipped)
    if tally.scored:
        yield from ((c.name, "PreScore", tally.scored) for c in profile.pre_score if c.name not in score_skipped)
        yield from ((c.name, "Score", tally.scored_nodes) for c in profile.score if c.name not in score_skipped)


def _without_scores(evaluation: Evaluation) -> frozenset[str]:
    """Return the plugins without scores; failures of plugins are handled by the cycle."""
    try:
        return evaluation.score_skipped()
    except CycleAborted:
        return _NO_PLUGINS


# -- durations ---------------------------------------------------------------------------------------------------------


class Stopwatch(Protocol):
    def plugin_ran(self, uid: str, point: str, plugin: str, status: str, seconds: float) -> None:
        """Record a plugin's call for the pod with this uid."""

    @property
    def is_sampled(self) -> bool:
        """Whether single plugin calls are timed in this cycle."""

    def report_plugin(self, plugin: str, point: str, answer: object, seconds: float) -> None:
        """Record a sampled call."""


def timed(profile: Profile, stopwatch: Stopwatch) -> Profile:
    """Return the profile with timed calls, except columnar ones."""
    wrap = _Wrapping(stopwatch)
    return msgspec.structs.replace(
        profile,
        filter=tuple(
            call if isinstance(call.plugin, ColumnarFilter) else wrap.sampled("Filter", call) for call in profile.filter
        ),
        pre_score=tuple(
            call if isinstance(call.plugin, ColumnarScore) else wrap.calls("PreScore", [call])[0]
            for call in profile.pre_score
        ),
        score=tuple(
            call if isinstance(call.plugin, ColumnarScore) else wrap.sampled("Score", call) for call in profile.score
        ),
        post_filter=wrap.calls("PostFilter", profile.post_filter),
        reserve=ApplicableCalls(
            msgspec.structs.replace(
                call,
                reserve=wrap.method("Reserve", call.name, call.reserve),
                unreserve=wrap.method("Unreserve", call.name, call.unreserve),
            )
            for call in profile.reserve
        ),
        permit=ApplicableCalls(wrap.calls("Permit", profile.permit)),
        pre_bind=ApplicableCalls(wrap.pre_binds(profile.pre_bind)),
        bind=wrap.binds(profile.bind),
        post_bind=wrap.calls("PostBind", profile.post_bind),
    )


class _Wrapping:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch
        self._ran = stopwatch.plugin_ran

    def calls(self, point: str, calls: Iterable[CallT]) -> tuple[CallT, ...]:
        return tuple(msgspec.structs.replace(call, run=self.method(point, call.name, call.run)) for call in calls)

    def sampled(self, point: str, call: SampledT) -> SampledT:
        """Return the call with single runs timed while the stopwatch samples."""
        run, plugin, stopwatch = call.run, call.name, self._stopwatch

        def timed_run(*given: Any) -> Any:
            if not stopwatch.is_sampled:
                return run(*given)
            began = perf_counter()
            answer = run(*given)
            stopwatch.report_plugin(plugin, point, answer, perf_counter() - began)
            return answer

        return msgspec.structs.replace(call, run=timed_run)

    def pre_binds(self, calls: Iterable[PreBindCall]) -> Iterator[PreBindCall]:
        for call in self.calls("PreBind", calls):
            ask = call.pre_flight and self.method("PreBindPreFlight", call.name, call.pre_flight)
            yield msgspec.structs.replace(call, pre_flight=ask)

    def binds(self, calls: Iterable[RawCall]) -> tuple[RawCall, ...]:
        """Return timed Bind plugins; `ran` reports work done without calling them."""
        timed_calls = self.calls("Bind", calls)
        return tuple(msgspec.structs.replace(call, ran=self._done("Bind", call.name)) for call in timed_calls)

    def _done(self, point: str, plugin: str) -> Callable[[str, str, float], None]:
        return lambda uid, status, seconds: self._ran(uid, point, plugin, status, seconds)

    def method(self, point: str, plugin: str, run: Run) -> Run:
        """Return the method timed; its second argument is the pod."""

        def call(*given: Any) -> Any:
            began = perf_counter()
            try:
                answer = run(*given)
            except Exception:
                self._ran(given[1].uid, point, plugin, FAILED, perf_counter() - began)
                raise
            if asyncio.iscoroutine(answer):
                return self._awaited(answer, given[1].uid, point, plugin, began)
            self._ran(given[1].uid, point, plugin, status_label(answer), perf_counter() - began)
            return answer

        return call

    async def _awaited(self, work: Awaitable[object], uid: str, point: str, plugin: str, began: float) -> object:
        label = FAILED
        try:
            answer = await work
            label = status_label(answer)
            return answer
        finally:
            self._ran(uid, point, plugin, label, perf_counter() - began)


def status_label(answer: object) -> str:
    """Return upstream's label of the status in a plugin's answer; None and True are success."""
    if isinstance(answer, tuple):
        answer = answer[-1]
    if answer is None:
        return SUCCESS
    if isinstance(answer, PermitResult):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else SUCCESS


class MeasuredQueueMetrics(CountingQueueMetrics):
    """`QueueMetrics` that also measure hints and PreEnqueue."""

    def __init__(self, metrics: Metrics, draws_sample: Callable[[], bool]) -> None:
        super().__init__()
        self._draws_sample = draws_sample
        self._plugin_seconds = metrics.plugin_seconds
        self._seconds = metrics.hint_seconds
        self._point_seconds = metrics.point_seconds

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        seconds, label = self._seconds, event.label

        def timed(pod: api.Pod, old: object, new: object) -> QueueingHint:
            began = perf_counter()
            try:
                answer = hint(pod, old, new)
            except Exception:
                seconds[plugin, label, HINT_FAILED].observe(perf_counter() - began)
                raise
            seconds[plugin, label, answer.value].observe(perf_counter() - began)
            return answer

        return timed

    def measured_gate(self, check: GateCheck, /) -> Callable[[QueuedPodInfo], None]:
        seconds, draws_sample, report = self._point_seconds, self._draws_sample, self._report_gate

        def timed(queued: QueuedPodInfo) -> None:
            began = perf_counter()
            check(queued, report if draws_sample() else None)
            # Upstream reports Success for gated pods as well.
            seconds["PreEnqueue", SUCCESS, queued.profile].observe(perf_counter() - began)

        return timed

    def _report_gate(self, plugin: str, status: Status | None, seconds: float) -> None:
        self._plugin_seconds[plugin, "PreEnqueue", status_label(status)].observe(seconds)
