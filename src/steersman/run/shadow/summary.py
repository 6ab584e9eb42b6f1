# SPDX-License-Identifier: Apache-2.0
"""Summary of a shadow so far: counts by class and the notable comparisons, as data and as text."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from steersman.base import SHADOW_VERSION, printable, wrapped
from steersman.kube.observe import MetricSet, WithoutCreationTimes
from steersman.run.shadow.comparison import AGREEING, EXPLAINED, ComparisonClass, DecisionComparison

MAX_DISAGREEMENTS: Final = 1_000
MAX_EXPLAINED: Final = 10_000
ADVICE: Final = (
    " {:,} of them rest on chance: which nodes the other scheduler looked at is not known."
    " percentageOfNodesToScore: 100, in its configuration and in --config, would settle them: every node is scored then."
)


class ShadowSummary:
    """Counts of all comparisons, the first unexplained ones, and the latest explained ones."""

    def __init__(self) -> None:
        self.counts: Counter[ComparisonClass] = Counter()
        #: Number of unexplained decisions by the plugin with the largest difference.
        self.by_plugin: Counter[str] = Counter()
        #: The first disagreements and unproven decisions.
        self.unexplained: list[DecisionComparison] = []
        #: The latest decisions explained by sampling or timing.
        self.explained: deque[DecisionComparison] = deque(maxlen=MAX_EXPLAINED)
        #: Seconds since the epoch of the first and the latest decision.
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
        if len(self.unexplained) < MAX_DISAGREEMENTS:
            self.unexplained.append(comparison)

    @property
    def total(self) -> int:
        return self.counts.total()

    @property
    def disagreements(self) -> int:
        return self.counts[ComparisonClass.DISAGREEMENT]

    def answer(self) -> str:
        """Return the outcome as a sentence."""
        if not self.total:
            return "No decision was seen."
        agreed = sum(self.counts[one] for one in AGREEING)
        text = f"{agreed:,} of {self.total:,} decisions are the same or a tie"
        explained = self.counts[ComparisonClass.SAMPLING] + self.counts[ComparisonClass.TIMING]
        if explained:
            text += f", {explained:,} are explained by sampling or timing"
        if self.counts[ComparisonClass.UNPROVEN]:
            text += f", for {self.counts[ComparisonClass.UNPROVEN]:,} nothing is proven"
        text += f"; {self.disagreements or 'no'} real disagreement{'' if self.disagreements == 1 else 's'}."
        return text + self._advice()

    def _advice(self) -> str:
        """Return a hint for decisions that depend on an unknown search order, or ""."""
        searches = (one.search for one in (*self.unexplained, *self.explained) if one.search is not None)
        by_chance = sum(search.start_index < 0 for search in searches)
        return ADVICE.format(by_chance) if by_chance else ""

    def line(self) -> str:
        """Return the counts in one line, for a terminal."""
        shown = (f"{self.counts[one]:,} {one}" for one in ComparisonClass if self.counts[one] or one in AGREEING)
        return f"{self.total:,} decisions: {', '.join(shown)}"

    def text(self, width: int | None = None) -> str:
        """Return the final report: counts, plugins that differ, first disagreements."""
        return "\n".join(self._lines(width))

    def _lines(self, width: int | None) -> Iterator[str]:
        yield "CLASS         DECISIONS"
        for one in ComparisonClass:
            yield f"{one:12}  {self.counts[one]:>9,}"
        for comparison in self.unexplained[:_MAX_SHOWN]:
            yield ""
            yield from wrapped(printable(comparison.line()), width)
            yield from _score_lines(comparison)
        if len(self.unexplained) > _MAX_SHOWN:
            yield f"… and {len(self.unexplained) - _MAX_SHOWN:,} more"
        if self.by_plugin:
            yield ""
            yield "PLUGIN THAT MAKES THE DIFFERENCE  DECISIONS"
            for plugin, count in self.by_plugin.most_common():
                yield f"{plugin:32}  {count:>9,}"
        yield ""
        yield from wrapped(self.answer(), width)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a `shadow.steersman.dev/v1` document."""
        return {
            "apiVersion": SHADOW_VERSION,
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


_MAX_SHOWN: Final = 10


def _score_lines(comparison: DecisionComparison) -> Iterator[str]:
    """Yield the scores of both nodes side by side, plugin by plugin."""
    scores = comparison.scores
    if scores is None or not scores.plugins:
        return
    yield f"  {'PLUGIN':32}  {'THEIRS':>7}  {'OURS':>7}"
    for one in scores.plugins:
        yield f"  {one.plugin:32}  {one.theirs:>7}  {one.ours:>7}"
    yield f"  {'total':32}  {scores.theirs:>7}  {scores.ours:>7}"


class ShadowMetrics(MetricSet):
    """Prometheus counters of the comparisons, in a registry of their own."""

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
        self.held = self.gauge("steersman_shadow_held_events", "Watch events that have not been processed yet.")
        self.lag = self.gauge(
            "steersman_shadow_lag_seconds", "Age of the oldest watch event that has not been processed yet."
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
    """Return a comparison as a line of JSON."""
    return msgspec.json.encode({"apiVersion": SHADOW_VERSION, "kind": "Comparison", **comparison.to_dict()})
