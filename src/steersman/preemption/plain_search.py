"""The plain way to candidates: node after node, as far as the search wants to go. Twin of `column_dry_run`."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.node_info import NodeInfo
from steersman.framework.status import Code, Status
from steersman.preemption.candidates import Candidate, pick
from steersman.preemption.outcome import NOT_HELPFUL, DryRuns
from steersman.preemption.question import Question
from steersman.preemption.search import Found


def search_plainly(question: Question, all_nodes: Sequence[NodeInfo]) -> DryRuns:
    nodes = _resolvable(all_nodes, question.statuses)
    candidates: list[Candidate] = []
    rejected: dict[Status, list[str]] = {}
    offset, enough = question.search.bounds(len(nodes)) if nodes else (0, 0)
    found = Found(enough)
    for node in (*nodes[offset:], *nodes[:offset]):
        outcome = question.about(node)
        if isinstance(outcome, Status):
            rejected.setdefault(outcome, []).append(node.name)
        elif found.admit(outcome.pdb_violations > 0):
            candidates.append(outcome)
        if found.enough:
            break
    choice = pick(candidates, question.now) if candidates else None
    why_not = NodeStatuses(rejected, NOT_HELPFUL)
    return DryRuns(len(all_nodes), len(nodes), candidates, len(candidates), choice, why_not)


def _resolvable(nodes: Sequence[NodeInfo], statuses: NodeStatuses) -> list[NodeInfo]:
    """The nodes that do not fit now, but might without some of their pods."""
    codes = {status.code for status, _ in statuses.counts()} | {_code(statuses.absent)}
    if Code.UNSCHEDULABLE not in codes:
        return []
    return [node for node in nodes if _code(statuses.of(node.name)) is Code.UNSCHEDULABLE]


def _code(status: Status | None) -> Code | None:
    return None if status is None else status.code
