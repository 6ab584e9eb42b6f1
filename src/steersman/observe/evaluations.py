# SPDX-License-Identifier: Apache-2.0
"""How often plugins are asked (plugin_evaluation_total), counted by templates of pods: one number per attempt.

`measuring` counts; `exposition` turns the numbers into series when somebody looks. Which plugins have nothing to do for a pod
is found out once per template and then now and again, because finding out costs more than counting. Scores are not
counted: an evaluation does not say cheaply which plugins had nothing to score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from steersman.engine.evaluation import Evaluation
from steersman.framework.pod_info import PodInfo
from steersman.observe.metrics import Metrics
from steersman.runtime.profile import Profile

#: After so many attempts it is found out anew whom a template concerns.
LOOK_AGAIN: Final = 1024
MOST_TEMPLATES: Final = 1024


class Tally:
    """Attempts at pods of one template, and whom they did not concern."""

    __slots__ = ("attempts", "profile", "skipped")

    def __init__(self, profile: str, skipped: frozenset[str]) -> None:
        self.profile = profile
        self.skipped = skipped
        self.attempts = 0


class Evaluations:
    """Of one scheduler. What it holds is bounded, even if nobody ever looks."""

    def __init__(self) -> None:
        self._by_shape: dict[object, Tally] = {}
        #: Attempts of templates that are not counted by themselves any more, by profile and skipped plugins.
        self._others: Counter[tuple[str, frozenset[str]]] = Counter()

    def count(self, pod: PodInfo, evaluation: Evaluation) -> None:
        tally = self._by_shape.get(pod.shape.token)
        if tally is None or tally.attempts >= LOOK_AGAIN:
            tally = self._look(pod, evaluation)
        tally.attempts += 1

    def _look(self, pod: PodInfo, evaluation: Evaluation) -> Tally:
        if len(self._by_shape) >= MOST_TEMPLATES:
            self._merge(self._by_shape.values())
            self._by_shape.clear()
        known = self._by_shape.get(pod.shape.token)
        if known is not None:
            self._merge([known])
        tally = self._by_shape[pod.shape.token] = Tally(pod.scheduler_name, frozenset(evaluation.pre_filter.skipped))
        return tally

    def _merge(self, tallies: Iterable[Tally]) -> None:
        for tally in tallies:
            self._others[tally.profile, tally.skipped] += tally.attempts

    def export(self, metrics: Metrics, profiles: Mapping[str, Profile], nodes: int) -> None:
        """Adds what was counted since the last time, with `nodes` in the cluster."""
        self._merge(self._by_shape.values())
        for (profile, skipped), attempts in self._others.items():
            for plugin, point, times in _asked(profiles[profile], skipped, nodes):
                metrics.evaluations[plugin, point, profile].inc(times * attempts)
        self._others.clear()
        self._by_shape.clear()


def _asked(profile: Profile, skipped: frozenset[str], nodes: int) -> Iterator[tuple[str, str, int]]:
    yield from ((call.name, "PreFilter", 1) for call in profile.pre_filter if call.name not in skipped)
    yield from ((call.name, "Filter", nodes) for call in profile.filter if call.name not in skipped)
