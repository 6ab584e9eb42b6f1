# SPDX-License-Identifier: Apache-2.0
"""The plain dry run: which pods of which nodes would have to go, found by asking the plugins as upstream does.

    DryRunQuestion ─► nodes, as far as the search wants to go ─► candidates ─► DryRuns

All pods of lower priority are taken from a copy of the node; if the pod fits then, they are put back one by one, most
important first, as long as it still fits. Those that violate a disruption budget are tried first. What cannot be put back
is a victim. `column_dry_run` answers the same question for all nodes at once where the filters allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from steersman.config import DefaultPreemptionArgs
from steersman.engine.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import WhatIf
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import NodeStatusReader
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, CycleAborted, Status, error, unresolvable
from steersman.preemption.candidates import Candidate, CandidateChoice, by_importance, pick
from steersman.preemption.disruption_budgets import Budgets
from steersman.rng import Rng
from steersman.state.plain_node import PlainNodeInfo

REASON_NOT_HELPFUL = "Preemption is not helpful for scheduling"
REASON_NO_VICTIMS = "No preemption victims found for incoming pod"
REASON_NO_NEED = 'expected at least one victim pod on node "{}"'
#: Status of nodes whose rejection removing pods cannot resolve.
NOT_HELPFUL: Status = unresolvable(REASON_NOT_HELPFUL)


class DryRunQuestion(msgspec.Struct, frozen=True):
    """One pod that fits nowhere, and everything that the answer depends on besides the nodes."""

    pod: PodInfo
    #: Why nodes do not fit now, and the cycle's state for what-if questions about them.
    statuses: NodeStatusReader
    state: CycleState
    what_if: WhatIf
    budgets: Budgets
    #: How far to look.
    search: CandidateSearch
    #: Whether all candidates are to be listed, and why other nodes are none. The choice is the same.
    detailed: bool
    #: Seconds since the epoch.
    now: float

    def about(self, node: NodeInfo) -> Candidate | Status:
        """The plain dry run of one node: the node as a candidate, or why it is none."""
        return dry_run(self.what_if, self.state, self.pod, node, self.budgets, self.now)


class DryRuns(msgspec.Struct, frozen=True):
    """The nodes on which a pod could get room, whichever way they were found."""

    all_nodes: int
    #: Number of nodes whose rejection might be resolved.
    examined: int
    #: Nodes that would do. With `detailed` searches all of them, otherwise those that are known in full.
    candidates: Sequence[Candidate]
    candidate_count: int
    choice: CandidateChoice | None
    #: Why other examined nodes would not do.
    statuses: NodeStatuses


# -- how far to look ---------------------------------------------------------------------------------------------------


class SearchBounds(NamedTuple):
    """Index of the node to begin with, and the number of candidates that end the search."""

    offset: int
    enough: int


class CandidateSearch(Protocol):
    """How far to look for candidates; asked anew for every preemption."""

    def bounds(self, nodes: int) -> SearchBounds:
        """The bounds of a search among that many nodes, of which there is at least one."""


class SampledSearch:
    """Upstream's extent: as many candidates as `DefaultPreemptionArgs` want, beginning at a random node."""

    def __init__(self, args: DefaultPreemptionArgs, rng: Rng) -> None:
        self._percentage = args.min_candidate_nodes_percentage
        self._absolute = args.min_candidate_nodes_absolute
        self._rng = rng

    def bounds(self, nodes: int) -> SearchBounds:
        wanted = max(nodes * self._percentage // 100, self._absolute)
        return SearchBounds(self._rng.randrange(nodes), min(wanted, nodes))


class FullSearch:
    """Every node, from the first: for conformance, and for anybody who wants the whole picture."""

    def bounds(self, nodes: int) -> SearchBounds:
        return SearchBounds(0, nodes)


class CandidateCount:
    """Counts candidates while they are found, and says when there are enough: as many as wanted, and at least one that
    violates no disruption budget."""

    __slots__ = ("_enough", "violating", "without_violation")

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.without_violation = 0
        self.violating = 0

    def admit(self, violates: bool) -> bool:
        """Counts a candidate; False when there are already as many of its kind as wanted, so that it is left out."""
        if violates:
            self.violating += 1
            return self.violating <= self._enough
        self.without_violation += 1
        return self.without_violation <= self._enough

    @property
    def enough(self) -> bool:
        total = min(self.without_violation, self._enough) + min(self.violating, self._enough)
        return self.without_violation > 0 and total >= self._enough


# -- node after node ---------------------------------------------------------------------------------------------------


def search_plainly(question: DryRunQuestion, all_nodes: Sequence[NodeInfo]) -> DryRuns:
    """The candidates found node after node, as far as the search wants to go. Twin of `column_dry_run`."""
    nodes = _resolvable(all_nodes, question.statuses)
    candidates: list[Candidate] = []
    rejected: dict[Status, list[str]] = {}
    offset, enough = question.search.bounds(len(nodes)) if nodes else (0, 0)
    found = CandidateCount(enough)
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


def _resolvable(nodes: Sequence[NodeInfo], statuses: NodeStatusReader) -> list[NodeInfo]:
    """The nodes that do not fit now, but might without some of their pods."""
    codes = {status.code for status, _ in statuses.counts()} | {_code(statuses.absent)}
    if Code.UNSCHEDULABLE not in codes:
        return []
    return [node for node in nodes if _code(statuses.of(node.name)) is Code.UNSCHEDULABLE]


def _code(status: Status | None) -> Code | None:
    return None if status is None else status.code


# -- one node ----------------------------------------------------------------------------------------------------------


def dry_run(
    what_if: WhatIf, state: CycleState, pod: PodInfo, node: NodeInfo, budgets: Budgets, now: float
) -> Candidate | Status:
    """The node as a candidate, or why it is none. `state` is not changed."""
    removable = [other for other in node.pods if other.priority < pod.priority]
    if not removable:
        return unresolvable(REASON_NO_VICTIMS)
    try:
        return _DryRun(what_if, state.clone(), pod, PlainNodeInfo.copy_of(node)).run(removable, budgets, now)
    except CycleAborted as abort:
        return error(abort.status.message)


class _DryRun:
    """One node that is being emptied and filled again, with the plugins' state for it."""

    def __init__(self, what_if: WhatIf, state: CycleState, pod: PodInfo, node: PlainNodeInfo) -> None:
        self._what_if = what_if
        self._state = state
        self._pod = pod
        self._node = node

    def run(self, removable: Sequence[PodInfo], budgets: Budgets, now: float) -> Candidate | Status:
        """Without the removable pods the node has to fit; then as many of them as possible come back."""
        for other in removable:
            self._remove(other)
        objection = self._objection()
        if objection is not None:
            return objection
        violating, others = budgets.split(by_importance(removable, now))
        lost = [other for other in violating if not self._reprieve(other)]
        violations = len(lost)
        lost += [other for other in others if not self._reprieve(other)]
        if not lost:
            return error(REASON_NO_NEED.format(self._node.name))
        victims = by_importance(lost, now) if violating and others else lost
        return Candidate(self._node.name, tuple(victims), violations)

    def _reprieve(self, other: PodInfo) -> bool:
        self._add(other)
        try:
            fits = self._objection() is None
        except CycleAborted:
            # A filter that breaks with the pod there is no reason to spare it, and none to give up the node.
            fits = False
        if not fits:
            self._remove(other)
        return fits

    def _objection(self) -> Status | None:
        return self._what_if.filter(self._state, self._pod, self._node)

    def _add(self, other: PodInfo) -> None:
        self._node.add_pod(other)
        self._what_if.add_pod(self._state, self._pod, other, self._node)

    def _remove(self, other: PodInfo) -> None:
        self._node.remove_pod(other)
        self._what_if.remove_pod(self._state, self._pod, other, self._node)
