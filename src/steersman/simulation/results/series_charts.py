# SPDX-License-Identifier: Apache-2.0
"""The time series of a run as sections of a report: utilisation, pools, pending pods, queue, waiting times, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from steersman.base.report import FRACTION, SECONDS, Line, LineChart
from steersman.simulation.results.series import Series

_MAX_LINES: Final = 12
"""So many lines can be told apart, with some patience."""
_FEW_LINES: Final = 3
"""Of more, those that are 0 all the time are left out."""
_BY_POOL: Final = ("cpu", "memory")


def series_charts(series: Series) -> Iterator[LineChart]:
    """A chart per measure that ever had a value; none of a run that took no time."""
    if len(series.times) < 2:
        return
    yield _chart(series, "Utilisation over time", series.utilisation, FRACTION)
    for resource in _BY_POOL:
        pools = {pool or "other": of[resource] for pool, of in series.by_pool.items() if resource in of}
        if len(pools) > 1:
            yield _chart(series, f"{resource} over time, by pool", pools, FRACTION)
    for title, caption, lines, unit in _measures(series):
        if any(value for values in lines.values() for value in values):
            yield _chart(series, title, lines, unit, caption)


def _measures(series: Series) -> Iterator[tuple[str, str, Mapping[str, Sequence[float]], str]]:
    """Title, caption, lines by name, unit."""
    yield "Pending pods over time", "By plugin or state; a pod may count for several.", series.pending, "pods"
    yield "Queue over time", "Pods in each part of the scheduler's queue.", series.lanes, "pods"
    waiting = {"p50": series.waiting.p50, "p99": series.waiting.p99}
    yield "Waiting for a node", "Of the pods that have got one so far.", waiting, SECONDS
    unusable = "What is free, but on nodes where none of the waiting pods fits, of all that nodes offer."
    yield "Fragmentation over time", unusable, series.fragmentation, FRACTION
    yield "Preempted pods over time", "", {"preempted": series.preemptions}, "pods"
    if len(set(series.cost)) > 1:
        yield "Cost over time", "Of all nodes, as their prices say.", {"cost": series.cost}, "per hour"


def _chart(
    series: Series, title: str, values: Mapping[str, Sequence[float]], unit: str, caption: str = ""
) -> LineChart:
    """The lines that reach highest, if there are many."""
    used = [name for name, line in values.items() if any(line)] if len(values) > _FEW_LINES else list(values)
    shown = sorted(used, key=lambda name: -max(values[name]))[:_MAX_LINES]
    lines = {name: Line(series.times, values[name]) for name in values if name in shown}
    return LineChart(title, lines, unit, caption=caption)
