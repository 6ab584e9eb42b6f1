# SPDX-License-Identifier: Apache-2.0
"""Renders an explanation as text: a few lines about the pod, a table of scores, a list of
objections.

A cell of the score table reads `raw/normalised/weighted`. With a limit, only the best nodes are
shown, and nodes with the same decisive objection share a row. `steersman.explain` renders its
answers with the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from steersman.base import aligned, counted, printable, wrapped
from steersman.scheduler.diagnosis.cause import NodeGroup, rejecting_groups

if TYPE_CHECKING:
    from steersman.scheduler.diagnosis.explanation import (
        Explanation,
        NodeExplanation,
        PluginScore,
        PreemptionExplanation,
    )

#: Value of `explanation.Outcome`, whose module imports this one.
_UNDECIDED: Final = "undecided"
_PENDING: Final = ("unschedulable", _UNDECIDED)
MAX_GROUPS: Final = 8
_NOT_EXAMINED: Final = "not examined"


def table(explanation: Explanation, limit: int | None = None, width: int | None = None) -> str:
    """Return the explanation with at most `limit` rows per table and lines folded at `width`; None
    for no limit."""
    return "\n".join(map(printable, _lines(explanation, limit, width)))


def _lines(explanation: Explanation, limit: int | None, width: int | None) -> Iterator[str]:
    at = "" if explanation.at is None else f", at {explanation.at:g} s"
    yield f"Pod {explanation.pod} (profile {explanation.profile}{at})"
    cause = [] if explanation.node or explanation.outcome not in _PENDING else [f"  {explanation.cause.sentence}"]
    for line in (*cause, f"  {outcome_text(explanation)}", *_pre_filter(explanation)):
        yield from wrapped(line, width)
    fitting = [node for node in explanation.nodes if node.fits]
    if fitting:
        yield ""
        yield from fitting_lines(explanation, fitting, limit, width)
    rejected = [node for node in explanation.nodes if not node.fits]
    if rejected and not explanation.nominated_only:
        yield ""
        yield from _rejected(rejected, limit, width)
    if explanation.preemption is not None:
        yield ""
        yield from preemption_lines(explanation.preemption, limit, width)


def outcome_text(explanation: Explanation) -> str:
    """Return how the cycle ended: the node, or the message."""
    if not explanation.node:
        return f"{explanation.outcome}: {explanation.message}" if explanation.message else str(explanation.outcome)
    went = "would go to" if explanation.outcome == _UNDECIDED else "scheduled on"
    fitting = sum(node.fits for node in explanation.nodes)
    if explanation.nominated_only:
        return f"{went} {explanation.node}, the node that it was nominated to"
    if fitting == 1:
        return f"{went} {explanation.node}, the only node that fits"
    among = f"; one of {explanation.ties} nodes with the best score" if explanation.ties > 1 else ", the best score"
    return f"{went} {explanation.node}{among}"


def _pre_filter(explanation: Explanation) -> Iterator[str]:
    outcome = explanation.pre_filter
    if outcome.rejection is not None:
        yield f"  PreFilter: rejected by {outcome.rejection}"
    if outcome.nodes is not None:
        yield f"  PreFilter: {', '.join(outcome.restricted_by)} admits only {', '.join(outcome.nodes) or 'no node'}"
    if outcome.skipped:
        yield f"  PreFilter: nothing to do for {', '.join(outcome.skipped)}"
    if explanation.score_skipped:
        yield f"  Score: nothing to do for {', '.join(explanation.score_skipped)}"


def fitting_lines(
    explanation: Explanation, nodes: Sequence[NodeExplanation], limit: int | None, width: int | None
) -> Iterator[str]:
    """Yield the nodes that fit with their scores, best first."""
    scored = [node for node in nodes if node.total is not None]
    if not scored:
        yield from wrapped(f"Fits on {_some([node.node for node in nodes], limit)}; nothing was scored.", width)
        return
    plugins = [f"{score.plugin} ×{score.weight}" for score in scored[0].scores]
    yield f"Fits on {len(nodes)} of {len(explanation.nodes)} nodes; scores (raw/normalised/weighted):"
    ranked = sorted(scored, key=lambda node: (-(node.total or 0), node.node != explanation.node, node.node))
    rows = [["NODE", "TOTAL", *plugins]]
    rows += ([_marked(node.node, explanation), str(node.total), *map(_cell, node.scores)] for node in ranked[:limit])
    yield from _indented(rows, width, right_from=1)
    if limit is not None and len(ranked) > limit:
        yield f"    and {counted(len(ranked) - limit, 'other node')}, down to a total of {ranked[-1].total}"


def _marked(node: str, explanation: Explanation) -> str:
    return f"* {node}" if node == explanation.node else f"  {node}"


def _cell(score: PluginScore) -> str:
    return f"{score.raw}/{score.normalised}/{score.weighted}"


def _rejected(nodes: Sequence[NodeExplanation], limit: int | None, width: int | None) -> Iterator[str]:
    yield f"Does not fit on {counted(len(nodes), 'node')}:"
    if limit is not None and len(nodes) > limit:
        yield from group_lines(rejecting_groups(nodes), width, limit)
        skipped = sum(not node.verdicts for node in nodes)
        if skipped:
            yield f"and {counted(skipped, 'node')} {_NOT_EXAMINED}"
        return
    yield from _objections(
        [("NODE", ["REJECTED BY"]), *((node.node, list(map(str, node.verdicts))) for node in nodes)], width
    )


def group_lines(groups: Sequence[NodeGroup], width: int | None, limit: int = MAX_GROUPS) -> Iterator[str]:
    """Yield a row per group of nodes with the same decisive objection, then the details in which
    nodes of a group differ."""
    rows = [("NODES", "REASON", "NEAREST")]
    for group in groups[:limit]:
        others = "" if group.objections == 1 else " and more"
        rows.append((str(group.count), f"{reason_of(group)}{others}", nearest_of(group)))
    yield from aligned([tuple(map(printable, row)) for row in rows], width=width)
    left = groups[limit:]
    if left:
        nodes, reasons = sum(group.count for group in left), counted(len(left), "other reason")
        yield f"and {counted(nodes, 'node')} for {reasons}"
    for group in groups[:limit]:
        yield from _details(group, width)


def reason_of(group: NodeGroup) -> str:
    """Return the objection of a group without the detail that differs between its nodes."""
    if not group.details:
        return group.objection
    return group.objection.replace(f" ({group.details[0].text})", "").replace(f": {group.details[0].text}", "")


def _details(group: NodeGroup, width: int | None) -> Iterator[str]:
    if not group.details:
        return
    yield from wrapped(f"  {reason_of(group)}:", width)
    for detail in group.details:
        yield from wrapped(f"    {counted(detail.count, 'node')}: {detail.text}", width)
    left = group.count - sum(detail.count for detail in group.details)
    if left:
        yield f"    and {left} more"


def nearest_of(group: NodeGroup) -> str:
    """Return the node of a group that comes nearest, or the first ones if its nodes do not
    differ."""
    more = group.count - len(group.examples)
    return group.nearest or ", ".join(group.examples) + (f" and {more} more" if more > 0 else "")


def _objections(rows: Sequence[tuple[str, Sequence[str]]], width: int | None) -> Iterator[str]:
    """Yield the objections to each node: the decisive one and the others beside it, or below it if
    the width is too small."""
    beside = [[f"  {name}", *_first_and_others(texts)] for name, texts in rows]
    beside[0][2] = "ALSO"
    lines = list(_indented(beside, None))
    if width is not None and max(map(len, lines)) > width:
        below = [
            [f"  {name}" if not index else "", f"also {text}" if index else text]
            for name, texts in rows
            for index, text in enumerate(texts or [_NOT_EXAMINED])
        ]
        lines = list(_indented(below, width))
    yield from lines


def _first_and_others(texts: Sequence[str]) -> tuple[str, str]:
    first, *others = texts or [_NOT_EXAMINED]
    return first, "; ".join(others)


def _some(names: Sequence[str], limit: int | None, between: str = ", ") -> str:
    if limit is None or len(names) <= limit:
        return between.join(names)
    return f"{between.join(names[:limit])} and {len(names) - limit} more"


def preemption_lines(room: PreemptionExplanation, limit: int | None, width: int | None) -> Iterator[str]:
    """Yield whether preemption helps, and on which nodes, with the victims."""
    examined = counted(room.examined_nodes, "node")
    if not room.nominated_node:
        yield f"Preemption would not help; {examined} examined."
        return
    found = counted(room.candidate_nodes, "candidate")
    decided = f"Preemption on {room.nominated_node}: {found} among {examined} examined; decided by: {room.decided_by}."
    yield from wrapped(decided, width)
    ranked = sorted(room.candidates, key=lambda candidate: (candidate.node != room.nominated_node, candidate.node))
    rows = [["  NODE", "VICTIMS (PRIORITY)", "PDB VIOLATIONS"]]
    for candidate in ranked[:limit]:
        mark = "*" if candidate.node == room.nominated_node else " "
        victims = ", ".join(f"{victim.pod} ({victim.priority})" for victim in candidate.victims)
        rows.append([f"{mark} {candidate.node}", victims, str(candidate.pdb_violations)])
    yield from _indented(rows, width)
    if limit is not None and len(ranked) > limit:
        yield f"    and {counted(len(ranked) - limit, 'other candidate')}"
    if room.cleared_nominations:
        yield f"  no longer nominated there: {', '.join(room.cleared_nominations)}"


def _indented(rows: Sequence[Sequence[str]], width: int | None, right_from: int | None = None) -> Iterator[str]:
    """Return an aligned table, indented by two."""
    lines = aligned(rows, right_from, None if width is None else width - 2)
    return (f"  {line}".rstrip() for line in lines)
