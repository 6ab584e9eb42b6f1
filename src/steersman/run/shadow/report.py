# SPDX-License-Identifier: Apache-2.0
"""Report of a shadow: how many decisions agree, how others are explained, and which are not.

Turns a summary into a `steersman.base.report.Report`, which `render_html` renders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from steersman.base.report import BarChart, Cell, Column, Figures, Report, Section, Table
from steersman.run.shadow.comparison import ComparisonClass, DecisionComparison
from steersman.run.shadow.summary import ShadowSummary

_MAX_ROWS: Final = 2_000


def shadow_report(summary: ShadowSummary, commands: Sequence[str] = (), notes: Sequence[str] = ()) -> Report:
    """Return the report of all comparisons."""
    return Report(
        title="Shadow",
        question="Does Steersman decide as the scheduler of this cluster does?",
        answer=summary.answer(),
        fits=summary.disagreements == 0 if summary.total else None,
        sections=list(_sections(summary)),
        commands=commands,
        notes=notes,
    )


def _sections(summary: ShadowSummary) -> Iterator[Section]:
    counts: dict[str, Cell] = {str(one): summary.counts[one] for one in ComparisonClass}
    yield Figures("Decisions", {"all": summary.total, **counts})
    yield BarChart(
        "Decisions by class",
        [str(one) for one in ComparisonClass],
        {"decisions": [summary.counts[one] for one in ComparisonClass]},
        caption=(
            "Same and tie need no explanation. Sampling and timing are explained, with evidence. "
            "For unproven ones there is an explanation without evidence, for disagreements there is none."
        ),
    )
    if summary.by_plugin:
        plugins = summary.by_plugin.most_common()
        yield BarChart(
            "Plugin that makes the difference",
            [plugin for plugin, _ in plugins],
            {"decisions": [count for _, count in plugins]},
        )
    if summary.unexplained:
        yield _table("Not explained", summary.unexplained)
        yield _scores(summary.unexplained)
    if summary.explained:
        latest = list(summary.explained)[-_MAX_ROWS:]
        yield _table("Explained by sampling or timing", latest, "The latest ones.")


def _table(title: str, comparisons: Sequence[DecisionComparison], caption: str = "") -> Table:
    columns: list[Column | str] = ["time", "pod", "class", "theirs", "ours", "how we know"]
    return Table(title, columns, [_row(one) for one in comparisons], caption)


def _row(one: DecisionComparison) -> tuple[Cell, ...]:
    time = datetime.fromtimestamp(one.seen, UTC).strftime("%H:%M:%S.%f")[:-3]
    return time, one.pod, str(one.comparison_class), one.their_node or None, one.our_node or None, one.evidence


def _scores(comparisons: Sequence[DecisionComparison]) -> Table:
    """Return the plugin scores of both nodes for every pod."""
    rows = [
        (one.pod, plugin.plugin, plugin.theirs, plugin.ours, plugin.ours - plugin.theirs)
        for one in comparisons
        if one.scores is not None
        for plugin in one.scores.plugins
    ]
    return Table("Scores side by side", ["pod", "plugin", "theirs", "ours", "difference"], rows)
