# SPDX-License-Identifier: Apache-2.0
"""How often plugins are asked (plugin_evaluation_total), counted by templates of pods: a few numbers per attempt.

`attempt_metrics` counts; `exposition` turns the numbers into series when somebody looks. As upstream, a plugin whose PreFilter
or PreScore says Skip does not count, and nothing is scored where fewer than two nodes fit. Which plugins have nothing to do
for a pod is found out once per template and then now and again, because finding out costs more than counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from steersman.engine.evaluation import Evaluation
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted
from steersman.observe.metrics import Metrics
from steersman.runtime.profile import Profile

#: After so many attempts it is found out anew whom a template concerns.
LOOK_AGAIN: Final = 1024
MOST_TEMPLATES: Final = 1024
_NOBODY: Final[frozenset[str]] = frozenset()


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
