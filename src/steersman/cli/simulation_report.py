# SPDX-License-Identifier: Apache-2.0
"""The result of a simulation as text, or as a document for JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from steersman.base import aligned, counted, duration_text, printable, wrapped
from steersman.cli.explain import answer_texts
from steersman.scheduler.diagnosis import amount

if TYPE_CHECKING:
    from steersman.explain import PodExplanation
    from steersman.simulation import GroupResult, Placement, Result, Usage

_ALWAYS_SHOWN: Final = ("cpu", "memory", "pods")
MAX_NODES: Final = 50
"""Maximum number of nodes in a table, the fullest ones; JSON and YAML contain all."""
MAX_RESOURCES: Final = 20
"""Maximum number of resources in a table, the fullest ones besides CPU, memory and pods."""


def as_table(
    result: Result, answers: Sequence[PodExplanation], most: int | None = None, width: int | None = None
) -> str:
    """`most` of the nodes that fit in an explanation, None: a row per node; `width` in characters,
    None: no limit."""
    return "\n".join(_sections(result, answers, most, width))


def as_document(result: Result, answers: Sequence[PodExplanation]) -> dict[str, Any]:
    """Return the result with explanations of single pods."""
    document = result.to_dict()
    if answers:
        document["explanations"] = [answer.to_dict() for answer in answers]
    return document


def _sections(result: Result, answers: Sequence[PodExplanation], most: int | None, width: int | None) -> Iterator[str]:
    placed = [placement for placement in result.placements.values() if not placement.is_pending]
    if placed:
        yield from _placed(placed, width)
        yield ""
    if result.utilisation.nodes:
        yield from _utilisation(result, width)
        yield ""
    if result.preempted:
        yield from aligned(
            [
                ("PREEMPTED", "NODE", "BY", "TIME"),
                *((p.pod, p.node, p.preemptor, duration_text(p.at, 6)) for p in result.preempted),
            ],
            width=width,
        )
        yield ""
    if result.groups:
        yield from _groups(result.groups.values(), width)
        yield ""
    if result.pending:
        yield from _pending(result.pending.values(), width)
        yield ""
    for text in answer_texts(answers, most, width, result.notes):
        yield text
        yield ""
    yield from wrapped(summary_line(result), width)


def summary_line(result: Result) -> str:
    summary = result.summary
    pending = f", {summary.pending} pending" if summary.pending else ""
    preempted = f", {summary.preempted} preempted" if summary.preempted else ""
    stopped = "; stopped before it came to rest" if result.stopped else ""
    return (
        f"{summary.scheduled} of {summary.pods} pods scheduled on {counted(summary.nodes, 'node')}{pending}{preempted}; "
        f"{counted(summary.decisions, 'attempt')} in {duration_text(summary.seconds, 6)} of virtual time{stopped}"
    )


def _placed(placements: Iterable[Placement], width: int | None) -> list[str]:
    rows = [("POD", "NODE", "TIME", "ATTEMPTS")]
    rows += ((p.pod, p.node, duration_text(p.at or 0.0, 6), str(p.attempts)) for p in placements)
    return aligned(rows, 2, width)


def _pending(placements: Iterable[Placement], width: int | None) -> Iterator[str]:
    """Yield pending pods with their messages, which are long, on separate lines."""
    yield "PENDING"
    for placement in placements:
        tried = f"{counted(placement.attempts, 'attempt')} since {duration_text(placement.since or 0.0, 6)}"
        where = f", to be bound to {placement.node}" if placement.node else ""
        yield f"{placement.pod} ({placement.reason}, {tried}{where})"
        yield from wrapped(f"  {printable(placement.message)}", width)


def _groups(groups: Iterable[GroupResult], width: int | None) -> Iterator[str]:
    rows = [("GROUP", "PLACED", "MIN", "DOMAIN", "STATE")]
    rows += (
        (
            group.group,
            f"{group.placed}/{group.pods}",
            "-" if group.min_count is None else str(group.min_count),
            ", ".join(f"{group.topology_key}={domain}" for domain in group.domains) or "-",
            (group.reason or "Pending") if group.is_pending else "Scheduled",
        )
        for group in groups
    )
    yield from aligned(rows, width=width)
    for group in groups:
        if group.message:
            yield from wrapped(printable(f"{group.group}: {group.message}"), width)


def _utilisation(result: Result, width: int | None) -> Iterator[str]:
    nodes, cluster = result.utilisation.nodes, result.utilisation.cluster
    others = [name for name, usage in cluster.items() if _is_worth_showing(name, usage)]
    if len(others) > MAX_RESOURCES:
        others.sort(key=lambda name: -cluster[name].fraction)
    resources = [*_ALWAYS_SHOWN, *others[:MAX_RESOURCES]]
    shown = list(nodes)
    if len(shown) > MAX_NODES:
        shown.sort(key=lambda name: (-_cpu_fraction(nodes[name]), name))
        del shown[MAX_NODES:]
    rows = [("NODE", *(name.upper() if name in _ALWAYS_SHOWN else name for name in resources))]
    rows += (_usage_row(name, nodes[name], resources) for name in shown)
    rows.append(_usage_row("all nodes", cluster, resources))
    yield from aligned(rows, 1, width)
    if len(shown) < len(nodes):
        yield f"({len(nodes) - len(shown)} more nodes, less full; -o json has all)"
    if len(others) > MAX_RESOURCES:
        yield f"({len(others) - MAX_RESOURCES} more resources, less full; -o json has all)"


def _is_worth_showing(name: str, usage: Usage) -> bool:
    if name in _ALWAYS_SHOWN:
        return False
    return bool(usage.requested) or ("/" in name and bool(usage.allocatable))


def _cpu_fraction(usages: Mapping[str, Usage]) -> float:
    cpu = usages.get("cpu")
    return 0.0 if cpu is None else cpu.fraction


def _usage_row(name: str, usages: Mapping[str, Usage], resources: Sequence[str]) -> tuple[str, ...]:
    return (name, *(_usage(resource, usages.get(resource)) for resource in resources))


def _usage(resource: str, usage: Usage | None) -> str:
    if usage is None or not (usage.allocatable or usage.requested):
        return "-"
    used, offered = amount(resource, usage.requested), amount(resource, usage.allocatable)
    return f"{used}/{offered} {usage.fraction:4.0%}"
