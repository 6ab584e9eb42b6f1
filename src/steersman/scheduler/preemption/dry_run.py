# SPDX-License-Identifier: Apache-2.0
"""The scalar dry run: which pods of which nodes would have to be removed, by calling plugins as
upstream.

    DryRunQuestion ─► nodes, up to the extent of the search ─► candidates ─► DryRuns

All victims of lower priority (`victims`: pods, or groups of pods) are removed from a copy of the
node. If the preemptor fits then, they are added back one by one, most important first, as long as
it still fits; those whose eviction violates a disruption budget are tried first. The others are
evicted. Pods of a group on other nodes are removed from the plugins' state only. `column_dry_run`
computes the same for all nodes at once, if the filters allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from steersman.base import Rng
from steersman.config import DefaultPreemptionArgs
from steersman.framework import (
    Code,
    CycleAborted,
    CycleState,
    NodeInfo,
    NodeStatusReader,
    PodInfo,
    Status,
    WhatIf,
    error,
    unresolvable,
)
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.scheduler.preemption.candidates import Candidate, CandidateChoice, pick
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.scheduler.preemption.victims import SINGLE_PODS, UnknownNode, Victim, Victims
from steersman.scheduler.state.plain_node import PlainNodeInfo

REASON_NOT_HELPFUL = "Preemption is not helpful for scheduling"
REASON_NO_VICTIMS = "No preemption victims found for incoming pod"
REASON_NO_NEED = 'expected at least one victim pod on node "{}"'
#: Status of nodes whose rejection cannot be resolved by removing pods.
NOT_HELPFUL: Status = unresolvable(REASON_NOT_HELPFUL)
#: Status of nodes without a pod of lower priority.
NO_VICTIMS: Status = unresolvable(REASON_NO_VICTIMS)


class PluginWhatIf(WhatIf, Protocol):
    """What-if evaluation with one plugin of a profile."""

    def pre_filter(self, pod: PodInfo) -> CycleState:
        """Return the cycle state written by PreFilter of the plugin. Raises CycleAborted for an
        internal error of the plugin."""


class DryRunQuestion(msgspec.Struct, frozen=True):
    """A pod that fits nowhere, with all inputs of the search except the nodes."""

    pod: PodInfo
    #: Why nodes do not fit now, and the cycle state for what-if questions about them.
    statuses: NodeStatusReader
    state: CycleState
    what_if: WhatIf
    budgets: Budgets
    #: Extent of the search.
    search: CandidateSearch
    #: Whether to list all candidates, and why other nodes are none. The choice is the same.
    detailed: bool
    #: Current time in seconds since the epoch.
    now: float
    victims: Victims = SINGLE_PODS

    def about(self, node: NodeInfo, plugin: PluginWhatIf | None = None) -> Candidate | Status:
        """Run the scalar dry run of one node, optionally with one plugin only; return the
        candidate, or why it is none."""
        if plugin is None:
            return dry_run(self, self.what_if, self.state, node)
        try:
            state = plugin.pre_filter(self.pod)
        except CycleAborted as abort:
            return error(abort.status.message)
        return dry_run(self, plugin, state, node)


class DryRuns(msgspec.Struct, frozen=True):
    """Candidates for a preemption, independent of how they were found."""

    all_nodes: int
    #: Number of nodes whose rejection might be resolved.
    examined: int
    #: All candidates in detailed searches, otherwise those with known victims.
    candidates: Sequence[Candidate]
    candidate_count: int
    choice: CandidateChoice | None
    #: Why other evaluated nodes are not candidates.
    statuses: NodeStatuses


# -- extent of the search -------------------------------------------------------------------------


class SearchBounds(NamedTuple):
    """Index of the first node, and number of candidates that end the search."""

    offset: int
    enough: int


class CandidateSearch(Protocol):
    """Extent of the search for candidates; called for every preemption."""

    def bounds(self, nodes: int) -> SearchBounds:
        """Return the bounds of a search among this number of nodes, at least one."""


class SampledSearch:
    """Upstream's extent: the number of candidates from `DefaultPreemptionArgs`, starting at a
    random node."""

    def __init__(self, args: DefaultPreemptionArgs, rng: Rng) -> None:
        self._percentage = args.min_candidate_nodes_percentage
        self._absolute = args.min_candidate_nodes_absolute
        self._rng = rng

    def bounds(self, nodes: int) -> SearchBounds:
        wanted = max(nodes * self._percentage // 100, self._absolute)
        return SearchBounds(self._rng.randrange(nodes), min(wanted, nodes))


class FullSearch:
    """Every node from the first one on, for conformance and detailed reports."""

    def bounds(self, nodes: int) -> SearchBounds:
        return SearchBounds(0, nodes)


class CandidateCount:
    """Counts candidates, and decides when there are enough: the required number, at least one of
    them without a violated disruption budget."""

    __slots__ = ("_enough", "violating", "without_violation")

    def __init__(self, enough: int) -> None:
        self._enough = enough
        self.without_violation = 0
        self.violating = 0

    def admit(self, violates: bool) -> bool:
        """Count a candidate; return False if there are already enough of its kind, so that it is
        not listed."""
        if violates:
            self.violating += 1
            return self.violating <= self._enough
        self.without_violation += 1
        return self.without_violation <= self._enough

    @property
    def enough(self) -> bool:
        total = min(self.without_violation, self._enough) + min(self.violating, self._enough)
        return self.without_violation > 0 and total >= self._enough


# -- node by node ---------------------------------------------------------------------------------


def search_node_by_node(question: DryRunQuestion, all_nodes: Sequence[NodeInfo]) -> DryRuns:
    """Search for candidates node by node, until there are enough. Reference for
    `column_dry_run`."""
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
    """Return the nodes that do not fit now, but might without some of their pods."""
    codes = {status.code for status, _ in statuses.counts()} | {_code(statuses.absent)}
    if Code.UNSCHEDULABLE not in codes:
        return []
    return [node for node in nodes if _code(statuses.status_of(node.name)) is Code.UNSCHEDULABLE]


def _code(status: Status | None) -> Code | None:
    return None if status is None else status.code


# -- one node -------------------------------------------------------------------------------------


def dry_run(question: DryRunQuestion, what_if: WhatIf, state: CycleState, node: NodeInfo) -> Candidate | Status:
    """Return the node as a candidate, or why it is none. `state` is not changed."""
    try:
        removable = question.victims.victims_on(node, question.pod.priority)
        if not removable:
            return NO_VICTIMS
        return _DryRun(question, what_if, state.clone(), PlainNodeInfo.copy_of(node)).run(removable)
    except CycleAborted as abort:
        return error(abort.status.message)
    except UnknownNode as unknown:
        return error(str(unknown))


class _DryRun:
    """One node from which victims are removed and to which they are added again, with the plugins'
    state for it."""

    def __init__(self, question: DryRunQuestion, what_if: WhatIf, state: CycleState, node: PlainNodeInfo) -> None:
        self._question = question
        self._what_if = what_if
        self._state = state
        self._pod = question.pod
        self._node = node

    def run(self, removable: Sequence[Victim]) -> Candidate | Status:
        """Remove the victims, check that the preemptor fits, and add back as many as possible."""
        for victim in removable:
            self._remove(victim)
        objection = self._objection()
        if objection is not None:
            return objection
        order, now = self._question.victims.by_importance, self._question.now
        violating, others = self._question.budgets.split_victims(order(removable, now))
        lost = [violation for violation in violating if not self._reprieve(violation.victim)]
        victims = [violation.victim for violation in lost]
        victims += [victim for victim in others if not self._reprieve(victim)]
        if not victims:
            return error(REASON_NO_NEED.format(self._node.name))
        if violating and others:
            victims = order(victims, now)
        pods = tuple(pod for victim in victims for pod in victim.pods)
        return Candidate(self._node.name, pods, sum(violation.pods for violation in lost))

    def _reprieve(self, victim: Victim) -> bool:
        self._add(victim)
        try:
            fits = self._objection() is None
        except CycleAborted:
            # A filter that raises with the pod on the node is a reason neither to reprieve the pod
            # nor to reject the node.
            fits = False
        if not fits:
            self._remove(victim)
        return fits

    def _objection(self) -> Status | None:
        return self._what_if.filter(self._state, self._pod, self._node)

    def _add(self, victim: Victim) -> None:
        for pod, node in victim.placed():
            if node.name == self._node.name:
                self._node.add_pod(pod)
                self._what_if.add_pod(self._state, self._pod, pod, self._node)
            else:
                self._what_if.add_pod(self._state, self._pod, pod, node)

    def _remove(self, victim: Victim) -> None:
        for pod, node in victim.placed():
            if node.name == self._node.name:
                self._node.remove_pod(pod)
                self._what_if.remove_pod(self._state, self._pod, pod, self._node)
            else:
                self._what_if.remove_pod(self._state, self._pod, pod, node)
