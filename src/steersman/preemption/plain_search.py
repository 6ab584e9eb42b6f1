"""The plain way to candidates: node after node, as far as the search wants to go. Twin of `column_dry_run`."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import WhatIf
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status
from steersman.preemption.candidates import Candidate, pick
from steersman.preemption.disruption_budgets import Budgets
from steersman.preemption.dry_run import dry_run
from steersman.preemption.outcome import NOT_HELPFUL, DryRuns
from steersman.preemption.search import Found, Search


def search_plainly(
    what_if: WhatIf,
    state: CycleState,
    pod: PodInfo,
    all_nodes: Sequence[NodeInfo],
    statuses: NodeStatuses,
    budgets: Budgets,
    search: Search,
    now: float,
) -> DryRuns:
    nodes = _resolvable(all_nodes, statuses)
    candidates: list[Candidate] = []
    rejected: dict[Status, list[str]] = {}
    offset, enough = search.bounds(len(nodes)) if nodes else (0, 0)
    found = Found(enough)
    for node in (*nodes[offset:], *nodes[:offset]):
        outcome = dry_run(what_if, state, pod, node, budgets, now)
        if isinstance(outcome, Status):
            rejected.setdefault(outcome, []).append(node.name)
        elif found.admit(outcome.pdb_violations > 0):
            candidates.append(outcome)
        if found.enough:
            break
    choice = pick(candidates, now) if candidates else None
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
