# SPDX-License-Identifier: Apache-2.0
"""An explanation as text: a few lines on the pod, a table of scores, a list of objections.

A cell of the score table reads `raw/normalised/weighted`. Of a large cluster, only so many nodes are shown as are wanted: the
best ones, and those that fail for the same reasons together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from steersman.explain.tables import aligned, wrapped
from steersman.printable import printable

if TYPE_CHECKING:
    from steersman.explain.explanation import Explanation, NodeExplanation, PluginScore, PreemptionExplanation, Verdict

#: `explanation.Outcome`, whose module uses this one.
_UNDECIDED: Final = "undecided"
_PENDING: Final = ("unschedulable", _UNDECIDED)
#: So many nodes with the same objections are named.
_NAMED: Final = 3
_NOT_EXAMINED: Final = "not examined"


def table(explanation: Explanation, most: int | None = None, width: int | None = None) -> str:
    """`most` rows per table, lines of `width` characters; None: as many as there are."""
    return "\n".join(map(printable, _lines(explanation, most, width)))


def _lines(explanation: Explanation, most: int | None, width: int | None) -> Iterator[str]:
    at = "" if explanation.at is None else f", at {explanation.at:g} s"
    yield f"Pod {explanation.pod} (profile {explanation.profile}{at})"
    cause = [] if explanation.node or explanation.outcome not in _PENDING else [f"  {explanation.cause.sentence}"]
    for line in (*cause, f"  {outcome_text(explanation)}", *_pre_filter(explanation)):
        yield from wrapped(line, width)
    fitting = [node for node in explanation.nodes if node.fits]
    if fitting:
        yield ""
        yield from fitting_lines(explanation, fitting, most, width)
    rejected = [node for node in explanation.nodes if not node.fits]
    if rejected and not explanation.nominated_only:
        yield ""
        yield from _rejected(rejected, most, width)
    if explanation.preemption is not None:
        yield ""
        yield from preemption_lines(explanation.preemption, most, width)


def outcome_text(explanation: Explanation) -> str:
    """How the cycle ended: the node, or the message."""
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
    explanation: Explanation, nodes: Sequence[NodeExplanation], most: int | None, width: int | None
) -> Iterator[str]:
    """The nodes that fit with their scores, the best first."""
    scored = [node for node in nodes if node.total is not None]
    if not scored:
        yield from wrapped(f"Fits on {_some([node.node for node in nodes], most)}; nothing was scored.", width)
        return
    plugins = [f"{score.plugin} ×{score.weight}" for score in scored[0].scores]
    yield f"Fits on {len(nodes)} of {len(explanation.nodes)} nodes; scores (raw/normalised/weighted):"
    ranked = sorted(scored, key=lambda node: (-(node.total or 0), node.node != explanation.node, node.node))
    rows = [["NODE", "TOTAL", *plugins]]
    rows += ([_marked(node.node, explanation), str(node.total), *map(_cell, node.scores)] for node in ranked[:most])
    yield from _indented(rows, width, right_from=1)
    if most is not None and len(ranked) > most:
        yield f"    and {_plural(len(ranked) - most, 'other node')}, down to a total of {ranked[-1].total}"


def _marked(node: str, explanation: Explanation) -> str:
    return f"* {node}" if node == explanation.node else f"  {node}"


def _cell(score: PluginScore) -> str:
    return f"{score.raw}/{score.normalised}/{score.weighted}"


def _rejected(nodes: Sequence[NodeExplanation], most: int | None, width: int | None) -> Iterator[str]:
    yield f"Does not fit on {_plural(len(nodes), 'node')}:"
    if most is not None and len(nodes) > most:
        yield from _rejected_together(nodes, most, width)
        return
    yield from _objections(
        [("NODE", ["REJECTED BY"]), *((node.node, list(map(str, node.verdicts))) for node in nodes)], width
    )


def _rejected_together(nodes: Sequence[NodeExplanation], most: int, width: int | None) -> Iterator[str]:
    """A row for every set of objections, the most frequent first."""
    groups: dict[tuple[str, ...], list[NodeExplanation]] = {}
    for node in nodes:
        groups.setdefault(tuple(verdict.brief for verdict in node.verdicts), []).append(node)
    ranked = sorted(groups.values(), key=lambda group: -len(group))
    together = ((_some([node.node for node in group], _NAMED), _objections_together(group)) for group in ranked[:most])
    yield from _objections([("NODES", ["REJECTED BY"]), *together], width)
    if len(ranked) > most:
        yield f"    and {_plural(sum(map(len, ranked[most:])), 'node')} with other objections"


def _objections(rows: Sequence[tuple[str, Sequence[str]]], width: int | None) -> Iterator[str]:
    """Who rejects, and who would have as well: beside it, or below where there is no room."""
    beside = [[f"  {name}", *_first_and_others(said)] for name, said in rows]
    beside[0][2] = "ALSO"
    lines = list(_indented(beside, None))
    if width is not None and max(map(len, lines)) > width:
        below = [
            [f"  {name}" if not index else "", f"also {text}" if index else text]
            for name, said in rows
            for index, text in enumerate(said or [_NOT_EXAMINED])
        ]
        lines = list(_indented(below, width))
    yield from lines


def _first_and_others(said: Sequence[str]) -> tuple[str, str]:
    first, *others = said or [_NOT_EXAMINED]
    return first, "; ".join(others)


def _objections_together(nodes: Sequence[NodeExplanation]) -> list[str]:
    """The objections to all of these nodes; of amounts, the one that comes nearest."""
    return [
        _objection_together([(node.node, node.verdicts[index]) for node in nodes])
        for index in range(len(nodes[0].verdicts))
    ]


def _objection_together(verdicts: Sequence[tuple[str, Verdict]]) -> str:
    brief = verdicts[0][1].brief
    shortages = [(node, shortage) for node, verdict in verdicts for shortage in verdict.shortages[:1]]
    if shortages:
        node, nearest = max(shortages, key=lambda one: one[1].free)
        return f"{brief} ({nearest} on {node}, which has most)"
    details = list(dict.fromkeys(verdict.detail for _, verdict in verdicts if verdict.detail))
    return f"{brief} ({_some(details, _NAMED, '; ')})" if details else brief


def _some(names: Sequence[str], most: int | None, between: str = ", ") -> str:
    if most is None or len(names) <= most:
        return between.join(names)
    return f"{between.join(names[:most])} and {len(names) - most} more"


def preemption_lines(room: PreemptionExplanation, most: int | None, width: int | None) -> Iterator[str]:
    """Whether making room would help, and where, with the victims."""
    examined = _plural(room.examined_nodes, "node")
    if not room.nominated_node:
        yield f"Preemption would not help; {examined} examined."
        return
    found = _plural(room.candidate_nodes, "candidate")
    decided = f"Preemption on {room.nominated_node}: {found} among {examined} examined; decided by: {room.decided_by}."
    yield from wrapped(decided, width)
    ranked = sorted(room.candidates, key=lambda candidate: (candidate.node != room.nominated_node, candidate.node))
    rows = [["  NODE", "VICTIMS (PRIORITY)", "PDB VIOLATIONS"]]
    for candidate in ranked[:most]:
        mark = "*" if candidate.node == room.nominated_node else " "
        victims = ", ".join(f"{victim.pod} ({victim.priority})" for victim in candidate.victims)
        rows.append([f"{mark} {candidate.node}", victims, str(candidate.pdb_violations)])
    yield from _indented(rows, width)
    if most is not None and len(ranked) > most:
        yield f"    and {_plural(len(ranked) - most, 'other candidate')}"
    if room.cleared_nominations:
        yield f"  no longer nominated there: {', '.join(room.cleared_nominations)}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _indented(rows: Sequence[Sequence[str]], width: int | None, right_from: int | None = None) -> Iterator[str]:
    """A table, two blanks in."""
    lines = aligned(rows, right_from, None if width is None else width - 2)
    return (f"  {line}".rstrip() for line in lines)
