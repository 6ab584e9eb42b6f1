# SPDX-License-Identifier: Apache-2.0
"""How often plugins are asked, and how long they take. `attempt_metrics` has both of one scheduler.

How often (plugin_evaluation_total) is counted by templates of pods, a few numbers per attempt; they become series when
somebody looks. As upstream, a plugin whose PreFilter or PreScore says Skip does not count, and nothing is scored where fewer
than two nodes fit. Which plugins have nothing to do for a pod is found out once per template and then now and again, because
finding out costs more than counting.

How long is measured by wrapping the calls that a profile consists of; a profile that is not wrapped costs nothing. In comes a
`runtime.Profile`, out comes one with the same plugins in the same order. What a call took goes to a `Stopwatch`. In-tree
filters and scores run as columns, all plugins in one go, and are timed as a phase by `attempt_metrics`, not here. Hints are
timed by the counts that the queue is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

import msgspec

from steersman import api
from steersman.engine.evaluation import Evaluation
from steersman.framework.events import ClusterEvent, HintFn, QueueingHint
from steersman.framework.plugin import PermitResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, CycleAborted, Status
from steersman.observe.metrics import Metrics
from steersman.queue import CountingQueueMetrics
from steersman.runtime.applicable_calls import ApplicableCalls
from steersman.runtime.profile import Profile, RawCall, StatusCall

#: After so many attempts it is found out anew whom a template concerns.
LOOK_AGAIN: Final = 1024
MOST_TEMPLATES: Final = 1024
_NOBODY: Final[frozenset[str]] = frozenset()
SUCCESS: Final = Code.SUCCESS.label
FAILED: Final = Code.ERROR.label
#: Value of the label `hint` for one that raised.
HINT_FAILED: Final = "Error"

Run = Callable[..., Any]
CallT = TypeVar("CallT", bound=RawCall | StatusCall)


# -- how often ---------------------------------------------------------------------------------------------------------


class TemplateAttempts:
    """Attempts at pods of one template, and whom they did not concern."""

    __slots__ = ("attempts", "profile", "score_skipped", "scored", "scored_nodes", "skipped")

    def __init__(self, profile: str, skipped: frozenset[str], score_skipped: frozenset[str] | None = None) -> None:
        self.profile = profile
        self.skipped = skipped
        #: None until the first attempt that scored nodes.
        self.score_skipped = score_skipped
        self.attempts = 0
        #: Attempts in which nodes were scored, and how many nodes in all.
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
        return self.profile, self.skipped, self.score_skipped or _NOBODY


class Evaluations:
    """The latest evaluations of one scheduler. What is held is bounded, even if nobody ever looks."""

    def __init__(self) -> None:
        self._by_shape: dict[object, TemplateAttempts] = {}
        #: Templates that are not counted by themselves any more, together with those that concern the same plugins.
        self._others: dict[tuple[str, frozenset[str], frozenset[str]], TemplateAttempts] = {}

    def count(self, pod: PodInfo, evaluation: Evaluation) -> None:
        tally = self._by_shape.get(pod.shape.token)
        if tally is None or tally.attempts >= LOOK_AGAIN:
            tally = self._look(pod, evaluation)
        tally.count(evaluation)

    def _look(self, pod: PodInfo, evaluation: Evaluation) -> TemplateAttempts:
        if len(self._by_shape) >= MOST_TEMPLATES:
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
        """Adds what was counted since the last time, with `nodes` in the cluster."""
        self._merge(self._by_shape.values())
        for tally in self._others.values():
            for plugin, point, times in _asked(profiles[tally.profile], tally, nodes):
                metrics.evaluations[plugin, point, tally.profile].inc(times)
        self._others.clear()
        self._by_shape.clear()


def _asked(profile: Profile, tally: TemplateAttempts, nodes: int) -> Iterator[tuple[str, str, int]]:
    skipped, score_skipped = tally.skipped, tally.score_skipped or _NOBODY
    yield from ((call.name, "PreFilter", tally.attempts) for call in profile.pre_filter if call.name not in skipped)
    yield from ((call.name, "Filter", nodes * tally.attempts) for call in profile.filter if call.name not in skipped)
    if tally.scored:
        yield from ((c.name, "PreScore", tally.scored) for c in profile.pre_score if c.name not in score_skipped)
        yield from ((c.name, "Score", tally.scored_nodes) for c in profile.score if c.name not in score_skipped)


def _without_scores(evaluation: Evaluation) -> frozenset[str]:
    """The plugins that have nothing to score; a plugin that breaks is the cycle's business."""
    try:
        return evaluation.score_skipped()
    except CycleAborted:
        return _NOBODY


# -- how long ----------------------------------------------------------------------------------------------------------


class Stopwatch(Protocol):
    def plugin_ran(self, uid: str, point: str, plugin: str, status: str, seconds: float) -> None:
        """A plugin's call for the pod with that uid has ended."""


def timed(profile: Profile, stopwatch: Stopwatch) -> Profile:
    """The profile with every call timed that is made plugin by plugin."""
    wrap = _Wrapping(stopwatch)
    return msgspec.structs.replace(
        profile,
        post_filter=wrap.calls("PostFilter", profile.post_filter),
        reserve=ApplicableCalls(
            msgspec.structs.replace(
                call,
                reserve=wrap.method("Reserve", call.name, call.reserve),
                unreserve=wrap.method("Unreserve", call.name, call.unreserve),
            )
            for call in profile.reserve
        ),
        permit=wrap.calls("Permit", profile.permit),
        pre_bind=ApplicableCalls(wrap.calls("PreBind", profile.pre_bind)),
        bind=wrap.binds(profile.bind),
        post_bind=wrap.calls("PostBind", profile.post_bind),
    )


class _Wrapping:
    def __init__(self, stopwatch: Stopwatch) -> None:
        self._ran = stopwatch.plugin_ran

    def calls(self, point: str, calls: Iterable[CallT]) -> tuple[CallT, ...]:
        return tuple(msgspec.structs.replace(call, run=self.method(point, call.name, call.run)) for call in calls)

    def binds(self, calls: Iterable[RawCall]) -> tuple[RawCall, ...]:
        """Bind plugins, whose work may be done without calling them."""
        timed_calls = self.calls("Bind", calls)
        return tuple(msgspec.structs.replace(call, ran=self._done("Bind", call.name)) for call in timed_calls)

    def _done(self, point: str, plugin: str) -> Callable[[str, str, float], None]:
        return lambda uid, status, seconds: self._ran(uid, point, plugin, status, seconds)

    def method(self, point: str, plugin: str, run: Run) -> Run:
        """Takes the cycle state, the pod, and whatever else, as all methods here do."""

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
    """The status that a plugin's answer means, as upstream prints it; the short forms of success are None and True."""
    if isinstance(answer, tuple):
        answer = answer[-1]
    if isinstance(answer, PermitResult):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else SUCCESS


class MeasuredQueueMetrics(CountingQueueMetrics):
    """A `QueueMetrics`."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._seconds = metrics.hint_seconds

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
