# SPDX-License-Identifier: Apache-2.0
"""The report of a simulation: placements, pending pods with reasons, utilisation of nodes.

Converts the result of a run, optionally with the result before it, to a
`steersman.base.report.Report` for `render_html`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.base.report import (
    BYTES,
    FRACTION,
    SECONDS,
    BarChart,
    Cell,
    Column,
    Figures,
    HeatMap,
    Line,
    LineChart,
    Report,
    Section,
    Table,
)
from steersman.simulation.node_pools import pool_of
from steersman.simulation.results.result import Result
from steersman.simulation.results.series import Series
from steersman.simulation.results.utilisation import PODS, Usage, Utilisation
from steersman.simulation.virtual_time.tasks import SimulationError

_FIRST: Final = ("cpu", "memory", PODS)
_MAX_RESOURCES: Final = 8
"""Maximum number of resources in a chart or table; clusters may have hundreds of extended ones."""
MAX_CAUSES: Final = 5
"""Number of groups of pending pods that are explained."""
_REASONS: Final = re.compile(r"(?:^|, )(\d+) (.+?)(?=, \d+ |$)")
_BYTES_OF: Final = re.compile(r"memory|.*storage|hugepages-.*")


def simulation_report(
    result: Result,
    before: Result | None = None,
    groups: Mapping[str, str] | None = None,
    commands: Sequence[str] = (),
    question: str = "Where does the scheduler place these pods?",
) -> Report:
    """Return the report. `groups` maps nodes to pools or zones (see `node_groups`)."""
    return Report(
        title="Simulation",
        question=question,
        answer=_answer(result),
        fits=not result.pending and not result.stopped,
        sections=list(_sections(result, before, groups or {})),
        commands=commands,
        notes=[*([result.stopped] if result.stopped else []), *result.notes],
    )


def node_groups(nodes: Iterable[api.Node]) -> dict[str, str]:
    """Return node name → pool, or → zone if no node has a pool."""
    known = list(nodes)
    pools = {node.metadata.name: pool_of(node) for node in known}
    if any(pools.values()):
        return pools
    return {node.metadata.name: node.metadata.labels.get(api.ZONE_LABEL, "") for node in known}


def _answer(result: Result) -> str:
    summary = result.summary
    nodes = f"{summary.nodes:,} node{'' if summary.nodes == 1 else 's'}"
    stopped = " The simulation was stopped before it came to rest." if result.stopped else ""
    if not summary.pending:
        return f"All {summary.pods:,} pods are scheduled, on {nodes}.{stopped}"
    scheduled = f"{summary.scheduled:,} of {summary.pods:,} pods are scheduled on {nodes}"
    return f"{scheduled}; {summary.pending:,} pending.{stopped}"


def pending_reasons(result: Result) -> dict[str, int]:
    """Return the number of pending pods by reason, sorted by number of pods, then of nodes."""
    pods: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    for placement in result.pending.values():
        reasons = reasons_of(placement.message) or {placement.reason: 0}
        pods.update(reasons.keys())
        nodes.update(reasons)
    return {reason: pods[reason] for reason in sorted(pods, key=lambda reason: (-pods[reason], -nodes[reason], reason))}


def reasons_of(message: str) -> dict[str, int]:
    """Return reason → number of nodes for a message such as `0/5 nodes are available: 4
    Insufficient cpu, 1 node(s) were unschedulable. …`."""
    _, _, reasons = message.partition("nodes are available: ")
    return {reason: int(count) for count, reason in _REASONS.findall(reasons.partition(". ")[0].rstrip("."))}


class PendingMessage(NamedTuple):
    """Causes of pending pods: (number of pods with a message, one of them, cause), most first."""

    rows: list[tuple[int, str, str]]
    #: Pods with further messages.
    others: list[str]


def pending_causes(result: Result, most: int = MAX_CAUSES) -> PendingMessage:
    """Return the causes of at most `most` groups of pods, each from an explanation over all nodes.
    A pickled result has the scheduler's message instead of a cause."""
    by_message: dict[str, list[str]] = {}
    for placement in result.pending.values():
        by_message.setdefault(placement.message, []).append(placement.pod)
    ordered = sorted(by_message.values(), key=len, reverse=True)
    rows = [(len(pods), pods[0], _cause(result, pods[0])) for pods in ordered[:most]]
    return PendingMessage(rows, [pod for pods in ordered[most:] for pod in pods])


def _cause(result: Result, pod: str) -> str:
    try:
        return result.explain(pod).cause.sentence
    except SimulationError:
        return result.pending[pod].message


# -- sections ------------------------------------------------------------------------------------------------------------------


def _sections(result: Result, before: Result | None, groups: Mapping[str, str]) -> Iterator[Section]:
    earlier = None if before is None else before.utilisation
    resources = _resources(result.utilisation)
    yield _figures(result)
    yield from _causes(result)
    if result.utilisation.nodes:
        yield _requested(result.utilisation, earlier, resources)
    yield from series_charts(result.series)
    for resource in resources[:2]:
        yield _heat_map(resource, result.utilisation, earlier, groups)
    yield from _pending(result)
    yield from _preempted(result)
    if result.placements:
        yield _placements(result)
    if result.utilisation.nodes:
        yield _nodes(result.utilisation, resources, groups)


def _figures(result: Result) -> Figures:
    summary = result.summary
    counts: dict[str, Cell] = {"nodes": summary.nodes, "pods": summary.pods, "scheduled": summary.scheduled}
    counts |= {"pending": summary.pending, "preempted": summary.preempted, "attempts": summary.decisions}
    cost = result.series.cost[-1]
    prices: dict[str, Cell] = {"cost per hour": round(cost, 4)} if cost else {}
    return Figures("At a glance", counts | {"seconds of virtual time": round(summary.seconds, 3)} | prices)


def _resources(utilisation: Utilisation) -> list[str]:
    """Return the allocatable resources: cpu, memory and pods first, then by requested share."""
    offered = {name: usage for name, usage in utilisation.cluster.items() if usage.allocatable}
    others = sorted((name for name in offered if name not in _FIRST), key=lambda name: (-offered[name].fraction, name))
    return [*(name for name in _FIRST if name in offered), *others][:_MAX_RESOURCES]


def _requested(utilisation: Utilisation, before: Utilisation | None, resources: Sequence[str]) -> BarChart:
    series = {"after" if before is not None else "requested": utilisation}
    if before is not None:
        series = {"before": before, **series}
    shares = {name: [_usage(of.cluster, resource).fraction for resource in resources] for name, of in series.items()}
    return BarChart("Requested of what all nodes offer", resources, shares, FRACTION)


def _causes(result: Result) -> Iterator[Section]:
    if result.pending:
        causes = pending_causes(result)
        rest = f" {len(causes.others):,} other pods have other messages." if causes.others else ""
        caption = f"Pods with the same message together, and what stands in the way of one of them.{rest}"
        yield Table("Why pods are pending", ["pods", "for example", "cause"], causes.rows, caption)


def _heat_map(resource: str, after: Utilisation, before: Utilisation | None, groups: Mapping[str, str]) -> HeatMap:
    def shares(utilisation: Utilisation) -> dict[str, float]:
        return {name: _usage(usages, resource).fraction for name, usages in utilisation.nodes.items()}

    title = f"{resource} requested by node"
    if before is None:
        return HeatMap(title, shares(after), None, groups)
    return HeatMap(title, shares(before), shares(after), groups)


def _pending(result: Result) -> Iterator[Section]:
    if not result.pending:
        return
    reasons = pending_reasons(result)
    caption = "Pods that a reason was given for; a pod may have several, each for some of the nodes."
    yield BarChart("Pending pods by reason", list(reasons), {"pods": list(reasons.values())}, "pods", caption=caption)
    rows = [(p.pod, p.reason, p.since, p.attempts, p.message) for p in result.pending.values()]
    yield Table("Pending pods", ["pod", "state", Column("since", SECONDS), "attempts", "message"], rows)


def _preempted(result: Result) -> Iterator[Section]:
    if result.preempted:
        rows = [(victim.pod, victim.node, victim.preemptor, victim.at) for victim in result.preempted]
        yield Table("Preempted pods", ["pod", "node", "made room for", Column("at", SECONDS)], rows)


def _placements(result: Result) -> Table:
    rows = [(p.pod, p.node or None, p.at, p.attempts) for p in result.placements.values()]
    return Table("Placements", ["pod", "node", Column("bound at", SECONDS), "attempts"], rows)


def _nodes(utilisation: Utilisation, resources: Sequence[str], groups: Mapping[str, str]) -> Table:
    """Return the table of nodes with share, amount and total of every resource."""
    columns: list[Column | str] = [
        "node",
        "group",
        *(column for resource in resources for column in _usage_columns(resource)),
    ]
    rows = [
        (name, groups.get(name, "") or None, *(cell for resource in resources for cell in _cells(resource, usages)))
        for name, usages in utilisation.nodes.items()
    ]
    return Table("Nodes", columns, rows)


def _usage_columns(resource: str) -> tuple[Column, Column, Column]:
    unit = BYTES if _BYTES_OF.fullmatch(resource) else ""
    return Column(resource, FRACTION), Column("requested", unit), Column("of", unit)


def _cells(resource: str, usages: Mapping[str, Usage]) -> tuple[Cell, Cell, Cell]:
    usage = usages.get(resource)
    if usage is None or not usage.allocatable:
        return None, None, None
    if resource == "cpu":
        return usage.fraction, usage.requested / 1000, usage.allocatable / 1000
    return usage.fraction, usage.requested, usage.allocatable


def _usage(usages: Mapping[str, Usage], resource: str) -> Usage:
    return usages.get(resource) or Usage(0, 0)


# -- time series -------------------------------------------------------------------------------------------------------


_MAX_LINES: Final = 12
"""Maximum number of lines in a chart."""
_FEW_LINES: Final = 3
"""If there are more lines, lines that are always 0 are omitted."""
_BY_POOL: Final = ("cpu", "memory")


def series_charts(series: Series) -> Iterator[LineChart]:
    """Yield a chart per measure with values; none for a run without duration."""
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
    """Yield title, caption, lines by name and unit of each measure."""
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
    """Return a chart of the highest lines."""
    used = [name for name, line in values.items() if any(line)] if len(values) > _FEW_LINES else list(values)
    shown = sorted(used, key=lambda name: -max(values[name]))[:_MAX_LINES]
    lines = {name: Line(series.times, values[name]) for name in values if name in shown}
    return LineChart(title, lines, unit, caption=caption)
