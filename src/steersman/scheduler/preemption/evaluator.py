# SPDX-License-Identifier: Apache-2.0
"""The decision of a preemption: from "no node fits" to the best candidate.

    eligible? ─► nodes with resolvable rejection ─► dry runs ─► candidates ─► extenders ─► pick one
        ─► PreemptionReport

`executor` carries the decision out. Called by the plugin with the statuses of the cycle's Filter
phase.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from steersman.api import Pod, PodDisruptionBudget, aggregate
from steersman.base import CacheSpec, Memo
from steersman.config import Rule
from steersman.framework import (
    Code,
    CycleState,
    Extender,
    ExtenderError,
    Handle,
    Nodes,
    NodeStatusReader,
    NodeVictims,
    PodInfo,
    PodsOn,
    PostFilterHandle,
    Status,
    error,
    unschedulable,
)
from steersman.scheduler.preemption.candidates import Candidate, CandidateChoice, PreemptionReport, pick
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.scheduler.preemption.disruption_budgets import Budgets
from steersman.scheduler.preemption.dry_run import CandidateSearch, DryRunQuestion, DryRuns, search_node_by_node
from steersman.scheduler.preemption.executor import DISRUPTION_TARGET, PREEMPTION_BY_SCHEDULER, outranked
from steersman.scheduler.preemption.victims import SINGLE_PODS, victims_of
from steersman.scheduler.state.node_table import NodeTable

logger = logging.getLogger(__name__)

NEVER = "Never"
REASON_NEVER = "not eligible due to preemptionPolicy=Never."
REASON_TERMINATING = "not eligible due to a terminating pod on the nominated node."
REASON_NO_CANDIDATE = "no candidate node for preemption"
NOT_FOUND = 'pod "{}" not found'
NO_VICTIM = 'expected at least one victim pod on node "{}"'


DISRUPTION_BUDGETS = CacheSpec(
    name="disruption budgets",
    attributes=("CurrentBudgets._budgets",),
    contents="PodDisruptionBudgets with parsed selectors",
    key="one for each profile",
    invalidation="version of PodDisruptionBudget objects (`Memo`)",
    limit="all PodDisruptionBudgets",
    reference="`Budgets` of all objects",
    checked_by="tests/preemption/test_disruption_budgets.py",
)


class Evaluator:
    """Decides the preemptions of one plugin instance."""

    def __init__(self, handle: PostFilterHandle, search: CandidateSearch) -> None:
        self._handle = handle
        self.budgets = CurrentBudgets(handle)
        #: Extent of the search.
        self.search = search
        #: Whether reports list every candidate with its victims, and why other nodes are none. The
        #: choice is the same.
        self.detailed = False
        self._columns = ColumnDryRun(has_groups=handle.pod_groups is not None)

    def prepare(self, table: NodeTable) -> None:
        """Create or update the table of victims, so that forks share it."""
        self._columns.prepare(table)

    def decide(self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader) -> PreemptionReport | Status:
        """Return a report with or without a choice, or a Status if the pod may not preempt or an
        error occurred."""
        return self._why_not(pod, statuses) or self._conclude(pod, self._dry_runs(state, pod, statuses, self.detailed))

    async def decide_with_extenders(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader, extenders: Sequence[Extender]
    ) -> PreemptionReport | Status:
        """Decide like `decide`, among the candidates accepted by these extenders."""
        refusal = self._why_not(pod, statuses)
        if refusal is not None:
            return refusal
        runs = self._dry_runs(state, pod, statuses, detailed=True)
        if runs.choice is not None:
            try:
                candidates = await ask_extenders(extenders, pod, runs.candidates, self._pods_on)
            except ExtenderError as cause:
                return error(str(cause))
            if not candidates:
                return unschedulable(REASON_NO_CANDIDATE)
            choice = pick(candidates, self._handle.clock.now())
            runs = msgspec.structs.replace(runs, candidates=candidates, candidate_count=len(candidates), choice=choice)
        return self._conclude(pod, runs)

    def _why_not(self, pod: PodInfo, statuses: NodeStatusReader) -> Status | None:
        current = self._handle.pods.get(pod.key)
        if current is None:
            return error(NOT_FOUND.format(pod.name))
        reason = self._why_not_eligible(current, statuses)
        return unschedulable(reason) if reason else None

    def _pods_on(self, name: str) -> Iterable[PodInfo] | None:
        node = self._handle.nodes.get(name)
        return None if node is None else node.pods

    def _conclude(self, pod: PodInfo, runs: DryRuns) -> PreemptionReport | Status:
        if runs.choice is None:
            faults = [status.message for status, _ in runs.statuses.counts() if status.code is Code.ERROR]
            if faults:
                return error(aggregate(faults))
        return self._report(pod, runs)

    def _why_not_eligible(self, pod: Pod, statuses: NodeStatusReader) -> str:
        nominated = pod.status.nominated_node_name
        status = statuses.status_of(nominated) if nominated else None
        return why_not_eligible(pod, status, self._handle.nodes, victims_of(self._handle).priority)

    def _dry_runs(self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader, detailed: bool) -> DryRuns:
        question = DryRunQuestion(
            pod=pod,
            statuses=statuses,
            state=state,
            what_if=self._handle.what_if,
            budgets=self.budgets.get(),
            search=self.search,
            detailed=detailed,
            now=self._handle.clock.now(),
            victims=victims_of(self._handle),
        )
        return self._columns.search(question) or search_node_by_node(question, self._handle.nodes.all())

    def _report(self, pod: PodInfo, runs: DryRuns) -> PreemptionReport:
        return PreemptionReport(
            preemptor=pod.key,
            all_nodes=runs.all_nodes,
            examined=runs.examined,
            candidates=tuple(sorted(runs.candidates, key=lambda candidate: candidate.node)),
            candidate_count=runs.candidate_count,
            choice=runs.choice,
            cleared_nominations=self._nominations_to_clear(pod, runs.choice),
            statuses=runs.statuses,
        )

    def _nominations_to_clear(self, preemptor: PodInfo, choice: CandidateChoice | None) -> tuple[str, ...]:
        """Return the keys of pods whose nomination to the chosen node will be cleared; none if
        there are no victims to delete."""
        if choice is None or not choice.candidate.victims_to_delete:
            return ()
        nominated = self._handle.nominated_pods(choice.candidate.node)
        return tuple(sorted(other.key for other in outranked(nominated, preemptor.priority)))


class CurrentBudgets:
    """The disruption budgets of the cluster."""

    def __init__(self, handle: Handle) -> None:
        self._objects = handle.objects
        self._ends_at_violation = handle.gates.has_rule(Rule.BUDGETS_END_AT_VIOLATION)
        self._budgets: Memo[Budgets] = Memo()

    def get(self) -> Budgets:
        return self._budgets.get(self._objects.version(PodDisruptionBudget), self._read)

    def _read(self) -> Budgets:
        return Budgets(self._objects.list(PodDisruptionBudget), ends_at_violation=self._ends_at_violation)


# -- eligibility ----------------------------------------------------------------------------------


def why_not_eligible(
    pod: Pod,
    nominated_node_status: Status | None,
    nodes: Nodes,
    priority_of: Callable[[PodInfo], int] = SINGLE_PODS.priority,
) -> str:
    """Return why the pod may not preempt others, or "".

    `nominated_node_status` is why the nominated node does not fit; None if it was not evaluated.
    `priority_of` returns the priority of a running pod as a victim. A pod that has preempted before
    waits for its victims to terminate, unless that node cannot become feasible.
    """
    if pod.spec.preemption_policy == NEVER:
        return REASON_NEVER
    nominated = pod.status.nominated_node_name
    if not nominated or _is_unresolvable(nominated_node_status):
        return ""
    node = nodes.get(nominated)
    priority = pod.spec.priority or 0
    if node is not None and any(is_being_preempted(p.pod) and priority_of(p) < priority for p in node.pods):
        return REASON_TERMINATING
    return ""


def is_being_preempted(pod: Pod) -> bool:
    """Return whether the pod is terminating because of a preemption."""
    if pod.metadata.deletion_timestamp is None:
        return False
    target = next((c for c in pod.status.conditions if c.type == DISRUPTION_TARGET), None)
    return target is not None and target.status == "True" and target.reason == PREEMPTION_BY_SCHEDULER


def _is_unresolvable(status: Status | None) -> bool:
    return status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


# -- extenders ------------------------------------------------------------------------------------


async def ask_extenders(
    extenders: Sequence[Extender], pod: PodInfo, candidates: Sequence[Candidate], pods_on: PodsOn
) -> tuple[Candidate, ...]:
    """Return the candidates accepted by the extenders, with the victims that they choose.

    Raises `ExtenderError` if one that is not ignorable fails.
    """
    victims: Mapping[str, NodeVictims] = {
        candidate.node: NodeVictims(candidate.victims, candidate.pdb_violations) for candidate in candidates
    }
    for extender in extenders:
        if not victims:
            break
        if extender.supports_preemption:
            victims = await _ask(extender, pod, victims, pods_on)
    return tuple(Candidate(node, its.pods, its.pdb_violations) for node, its in sorted(victims.items()))


async def _ask(
    extender: Extender, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
) -> Mapping[str, NodeVictims]:
    try:
        answer = await extender.process_preemption(pod, victims, pods_on)
    except ExtenderError as cause:
        if not extender.is_ignorable:
            raise
        logger.info("extender %s is skipped in the preemption for pod %s: %s", extender.name, pod.key, cause)
        return victims
    without = [node for node, its in answer.items() if not its.pods]
    if without and not extender.is_ignorable:
        raise ExtenderError(NO_VICTIM.format(without[0]))
    return {node: its for node, its in answer.items() if its.pods}
