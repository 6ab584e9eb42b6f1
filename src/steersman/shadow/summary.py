# SPDX-License-Identifier: Apache-2.0
"""The summary of a shadow so far: counts by class, and the comparisons that somebody may want to read. As data and as text."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from steersman.explain.tables import wrapped
from steersman.observe.series import MetricSet, WithoutCreationTimes
from steersman.printable import printable
from steersman.shadow.comparison import AGREEING, API_VERSION, EXPLAINED, ComparisonClass, DecisionComparison

MOST_DISAGREEMENTS: Final = 1_000
MOST_EXPLAINED: Final = 10_000


class ShadowSummary:
    """Counts everything; keeps the first disagreements and the latest decisions that needed an explanation."""

    def __init__(self) -> None:
        self.counts: Counter[ComparisonClass] = Counter()
        #: By the plugin that makes the difference.
        self.by_plugin: Counter[str] = Counter()
        #: Disagreements, and decisions for which nothing is proven; the first of them.
        self.unexplained: list[DecisionComparison] = []
        #: Decisions that sampling or timing explains; the latest of them.
        self.explained: deque[DecisionComparison] = deque(maxlen=MOST_EXPLAINED)
        #: Seconds since the epoch of the first decision and of the latest.
        self.first: float | None = None
        self.latest: float | None = None

    def add(self, comparison: DecisionComparison) -> None:
        self.counts[comparison.comparison_class] += 1
        self.first = comparison.seen if self.first is None else self.first
        self.latest = comparison.seen
        if comparison.comparison_class in AGREEING:
            return
        if comparison.comparison_class in EXPLAINED:
            self.explained.append(comparison)
            return
        if comparison.scores is not None and comparison.scores.plugin:
            self.by_plugin[comparison.scores.plugin] += 1
        if len(self.unexplained) < MOST_DISAGREEMENTS:
            self.unexplained.append(comparison)

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def disagreements(self) -> int:
        return self.counts[ComparisonClass.DISAGREEMENT]

    def answer(self) -> str:
        """The outcome in a sentence."""
        if not self.total:
            return "No decision was seen."
        agreed = sum(self.counts[one] for one in AGREEING)
        text = f"{agreed:,} of {self.total:,} decisions are the same or a tie"
        explained = self.counts[ComparisonClass.SAMPLING] + self.counts[ComparisonClass.TIMING]
        if explained:
            text += f", {explained:,} are explained by sampling or timing"
        if self.counts[ComparisonClass.UNPROVEN]:
            text += f", for {self.counts[ComparisonClass.UNPROVEN]:,} nothing is proven"
        return f"{text}; {self.disagreements or 'no'} real disagreement{'' if self.disagreements == 1 else 's'}."

    def line(self) -> str:
        """The counts in one line, for a terminal that is watched."""
        shown = (f"{self.counts[one]:,} {one}" for one in ComparisonClass if self.counts[one] or one in AGREEING)
        return f"{self.total:,} decisions: {', '.join(shown)}"

    def text(self, width: int | None = None) -> str:
        """For people, at the end: counts, the plugins that differ, and the first disagreements with their scores."""
        return "\n".join(self._lines(width))

    def _lines(self, width: int | None) -> Iterator[str]:
        yield "CLASS         DECISIONS"
        for one in ComparisonClass:
            yield f"{one:12}  {self.counts[one]:>9,}"
        for comparison in self.unexplained[:_MOST_SHOWN]:
            yield ""
            yield from wrapped(printable(comparison.line()), width)
            yield from _score_lines(comparison)
        if len(self.unexplained) > _MOST_SHOWN:
            yield f"… and {len(self.unexplained) - _MOST_SHOWN:,} more"
        if self.by_plugin:
            yield ""
            yield "PLUGIN THAT MAKES THE DIFFERENCE  DECISIONS"
            for plugin, count in self.by_plugin.most_common():
                yield f"{plugin:32}  {count:>9,}"
        yield ""
        yield from wrapped(self.answer(), width)

    def to_dict(self) -> dict[str, Any]:
        """For programs; `steersman.dev/shadow/v1`."""
        return {
            "apiVersion": API_VERSION,
            "kind": "ShadowReport",
            "summary": {
                "decisions": self.total,
                "classes": {str(one): self.counts[one] for one in ComparisonClass},
                "plugins": dict(self.by_plugin.most_common()),
                "answer": self.answer(),
            },
            "unexplained": [one.to_dict() for one in self.unexplained],
            "explained": [one.to_dict() for one in self.explained],
        }


_MOST_SHOWN: Final = 10


def _score_lines(comparison: DecisionComparison) -> Iterator[str]:
    """Both nodes side by side, plugin by plugin."""
    scores = comparison.scores
    if scores is None or not scores.plugins:
        return
    yield f"  {'PLUGIN':32}  {'THEIRS':>7}  {'OURS':>7}"
    for one in scores.plugins:
        yield f"  {one.plugin:32}  {one.theirs:>7}  {one.ours:>7}"
    yield f"  {'total':32}  {scores.theirs:>7}  {scores.ours:>7}"


class ShadowMetrics(MetricSet):
    """The counts for Prometheus, in a registry of their own."""

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self._decisions = self.counters(
            "steersman_shadow_decisions_total",
            "Decisions of the other scheduler by how they stand to ours.",
            "class",
            "decision",
            "profile",
        )
        self._differences = self.counters(
            "steersman_shadow_disagreements_total",
            "Disagreements by the plugin that makes the difference.",
            "plugin",
        )
        self.held = self.gauge("steersman_shadow_held_events", "Events of the watch that have not been looked at yet.")
        self.lag = self.gauge(
            "steersman_shadow_lag_seconds", "Age of the oldest event that has not been looked at yet."
        )
        self.tracked = self.gauge(
            "steersman_shadow_search_confirmed", "Decisions in a row that a predicted start index explained."
        )
        self.lost = self.gauge("steersman_shadow_search_lost", "How often no start index of a search was left.")

    def add(self, comparison: DecisionComparison) -> None:
        self._decisions[comparison.comparison_class, comparison.decision, comparison.profile].inc()
        if comparison.comparison_class is ComparisonClass.DISAGREEMENT and comparison.scores is not None:
            self._differences[(comparison.scores.plugin,)].inc()

    def render(self) -> bytes:
        return generate_latest(WithoutCreationTimes(self.registry))


def comparison_line(comparison: DecisionComparison) -> bytes:
    """One comparison as a line of JSON."""
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "Comparison", **comparison.to_dict()})
