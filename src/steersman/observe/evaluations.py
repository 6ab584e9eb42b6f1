"""How often plugins are asked (plugin_evaluation_total), counted by templates of pods: one number per attempt.

`measuring` counts; `exposition` turns the numbers into series when somebody looks. Which plugins have nothing to do for a pod
is found out once per template and then now and again, because finding out costs more than counting. Scores are not
counted: an evaluation does not say cheaply which plugins had nothing to score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from steersman.cycle.evaluation import Evaluation
from steersman.framework.pod_info import PodInfo, PodShape
from steersman.observe.metrics import Metrics
from steersman.runtime.profile import Profile

#: After so many attempts it is found out anew whom a template concerns.
LOOK_AGAIN: Final = 1024
MOST_TEMPLATES: Final = 4096


class Tally:
    """Attempts at pods of one template, that have not been turned into series."""

    __slots__ = ("attempts", "profile", "skipped")

    def __init__(self, profile: str, skipped: frozenset[str]) -> None:
        self.profile = profile
        self.skipped = skipped
        self.attempts = 0


class Evaluations:
    """Of one scheduler."""

    def __init__(self) -> None:
        self._by_shape: dict[PodShape, Tally] = {}
        self._counted: list[Tally] = []

    def count(self, pod: PodInfo, evaluation: Evaluation) -> None:
        tally = self._by_shape.get(pod.shape)
        if tally is None or tally.attempts >= LOOK_AGAIN:
            tally = self._look(pod, evaluation)
        tally.attempts += 1

    def _look(self, pod: PodInfo, evaluation: Evaluation) -> Tally:
        if len(self._by_shape) >= MOST_TEMPLATES:
            self._by_shape.clear()
        tally = self._by_shape[pod.shape] = Tally(pod.scheduler_name, frozenset(evaluation.pre_filter.skipped))
        self._counted.append(tally)
        return tally

    def export(self, metrics: Metrics, profiles: Mapping[str, Profile], nodes: int) -> None:
        """Adds what was counted since the last time, with `nodes` in the cluster."""
        for tally in self._counted:
            for plugin, point, times in _asked(profiles[tally.profile], tally.skipped, nodes):
                metrics.evaluations[plugin, point, tally.profile].inc(times * tally.attempts)
        self._counted.clear()
        self._by_shape.clear()


def _asked(profile: Profile, skipped: frozenset[str], nodes: int) -> Iterator[tuple[str, str, int]]:
    yield from ((call.name, "PreFilter", 1) for call in profile.pre_filter if call.name not in skipped)
    yield from ((call.name, "Filter", nodes) for call in profile.filter if call.name not in skipped)
