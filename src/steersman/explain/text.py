# SPDX-License-Identifier: Apache-2.0
"""An explanation as text: a few lines on the pod, a table of scores, a list of objections.

A cell of the score table reads `raw/normalised/weighted`. Of a large cluster, only so many nodes are shown as are wanted: the
best ones, and those that fail for the same reasons together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from steersman.printable import printable

if TYPE_CHECKING:
    from steersman.explain.explanation import Explanation, NodeExplanation, PluginScore, PreemptionExplanation

#: `explanation.Outcome`, whose module uses this one.
_UNDECIDED: Final = "undecided"
#: So many nodes with the same objections are named.
_NAMED: Final = 3


def table(explanation: Explanation, most: int | None = None) -> str:
    """`most` rows per table; None: as many as there are nodes."""
    return "\n".join(map(printable, _lines(explanation, most)))


def aligned(rows: Sequence[Sequence[str]], right_from: int | None = None) -> list[str]:
    """The rows with columns of equal width, two blanks apart; columns from `right_from` on are aligned to the right."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [_line(row, widths, right_from) for row in shown]


def _line(row: Sequence[str], widths: Sequence[int], right_from: int | None) -> str:
    cells = [
        cell.rjust(width) if right_from is not None and index >= right_from else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def _lines(explanation: Explanation, most: int | None) -> Iterator[str]:
    at = "" if explanation.at is None else f", at {explanation.at:g} s"
    yield f"Pod {explanation.pod} (profile {explanation.profile}{at})"
    yield f"  {_outcome(explanation)}"
    yield from _pre_filter(explanation)
    fitting = [node for node in explanation.nodes if node.fits]
    if fitting:
        yield ""
        yield from _fitting(explanation, fitting, most)
    rejected = [node for node in explanation.nodes if not node.fits]
    if rejected and not explanation.nominated_only:
        yield ""
        yield from _rejected(rejected) if most is None or len(rejected) <= most else _rejected_together(rejected, most)
    if explanation.preemption is not None:
        yield ""
        yield from _preemption(explanation.preemption, most)


def _outcome(explanation: Explanation) -> str:
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


def _fitting(explanation: Explanation, nodes: Sequence[NodeExplanation], most: int | None) -> Iterator[str]:
    scored = [node for node in nodes if node.total is not None]
    if not scored:
        yield f"Fits on {_some([node.node for node in nodes], most)}; nothing was scored."
        return
    plugins = [f"{score.plugin} ×{score.weight}" for score in scored[0].scores]
    yield f"Fits on {len(nodes)} of {len(explanation.nodes)} nodes; scores (raw/normalised/weighted):"
    ranked = sorted(scored, key=lambda node: (-(node.total or 0), node.node != explanation.node, node.node))
    rows = [["NODE", "TOTAL", *plugins]]
    rows += ([_marked(node.node, explanation), str(node.total), *map(_cell, node.scores)] for node in ranked[:most])
    yield from _indented(aligned(rows, right_from=1))
    if most is not None and len(ranked) > most:
        yield f"    and {_plural(len(ranked) - most, 'other node')}, down to a total of {ranked[-1].total}"


def _marked(node: str, explanation: Explanation) -> str:
    return f"* {node}" if node == explanation.node else f"  {node}"


def _cell(score: PluginScore) -> str:
    return f"{score.raw}/{score.normalised}/{score.weighted}"


def _rejected(nodes: Sequence[NodeExplanation]) -> Iterator[str]:
    yield f"Does not fit on {len(nodes)} node{'s' if len(nodes) > 1 else ''}:"
    rows = [["  NODE", "REJECTED BY", "ALSO"]]
    for node in nodes:
        first, *others = map(str, node.verdicts) if node.verdicts else ("not examined",)
        rows.append([f"  {node.node}", first, "; ".join(others)])
    yield from _indented(aligned(rows))


def _rejected_together(nodes: Sequence[NodeExplanation], most: int) -> Iterator[str]:
    """A row for every set of objections, the most frequent first."""
    yield f"Does not fit on {len(nodes)} nodes:"
    groups: dict[tuple[str, ...], list[str]] = {}
    for node in nodes:
        groups.setdefault(tuple(map(str, node.verdicts)) or ("not examined",), []).append(node.node)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    rows = [["  NODES", "REJECTED BY", "ALSO"]]
    for (first, *others), names in ranked[:most]:
        rows.append([f"  {_some(names, _NAMED)}", first, "; ".join(others)])
    yield from _indented(aligned(rows))
    if len(ranked) > most:
        yield f"    and {_plural(sum(len(names) for _, names in ranked[most:]), 'node')} with other objections"


def _some(names: Sequence[str], most: int | None) -> str:
    if most is None or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _preemption(room: PreemptionExplanation, most: int | None) -> Iterator[str]:
    examined = _plural(room.examined_nodes, "node")
    if not room.nominated_node:
        yield f"Preemption would not help; {examined} examined."
        return
    found = _plural(room.candidate_nodes, "candidate")
    yield f"Preemption on {room.nominated_node}: {found} among {examined} examined; decided by: {room.decided_by}."
    ranked = sorted(room.candidates, key=lambda candidate: (candidate.node != room.nominated_node, candidate.node))
    rows = [["  NODE", "VICTIMS (PRIORITY)", "PDB VIOLATIONS"]]
    for candidate in ranked[:most]:
        mark = "*" if candidate.node == room.nominated_node else " "
        victims = ", ".join(f"{victim.pod} ({victim.priority})" for victim in candidate.victims)
        rows.append([f"{mark} {candidate.node}", victims, str(candidate.pdb_violations)])
    yield from _indented(aligned(rows))
    if most is not None and len(ranked) > most:
        yield f"    and {_plural(len(ranked) - most, 'other candidate')}"
    if room.cleared_nominations:
        yield f"  no longer nominated there: {', '.join(room.cleared_nominations)}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)
