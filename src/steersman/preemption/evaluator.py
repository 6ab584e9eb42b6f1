"""From "no node fits" to the node on which making room costs least.

    eligible? ─► nodes whose rejection can be resolved ─► dry runs ─► candidates ─► pick one ─► PreemptionReport

Decides only; `executor` carries the decision out. Comes from the plugin, with the statuses of the cycle's Filter phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steersman.api import Pod, PodDisruptionBudget
from steersman.api.field_errors import aggregate
from steersman.cycle.diagnosis import Diagnosis
from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import PostFilterHandle
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, error, unresolvable, unschedulable
from steersman.preemption.candidates import Candidate, pick
from steersman.preemption.disruption_budgets import Budgets
from steersman.preemption.dry_run import dry_run
from steersman.preemption.eligibility import why_not_eligible
from steersman.preemption.nominations import outranked
from steersman.preemption.report import PreemptionReport
from steersman.preemption.search import Found, Search

REASON_NOT_HELPFUL = "Preemption is not helpful for scheduling"
NOT_FOUND = 'pod "{}" not found'


@dataclass(frozen=True, slots=True)
class DryRuns:
    """What came out of examining nodes."""

    examined: int
    candidates: Sequence[Candidate]
    #: Why the other examined nodes would not do.
    statuses: dict[Status, list[str]]


class Evaluator:
    """One per plugin instance."""

    def __init__(self, handle: PostFilterHandle, search: Search) -> None:
        self._handle = handle
        self.search = search
        self._budgets = Budgets(())
        self._budgets_version = 0

    def decide(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PreemptionReport | Status:
        """A report with or without a choice; a Status when it did not come to that."""
        current = self._handle.pods.get(pod.key)
        if current is None:
            return error(NOT_FOUND.format(pod.name))
        reason = self._why_not_eligible(current, statuses)
        if reason:
            return unschedulable(reason)
        runs = self._dry_runs(state, pod, statuses)
        faults = [s.message for s in runs.statuses if s.code is Code.ERROR]
        if faults and not runs.candidates:
            return error(aggregate(faults))
        return self._report(pod, runs)

    def message_without_candidates(self, report: PreemptionReport) -> str:
        """Why no node would do, in the words of a scheduling failure."""
        groups = report.statuses.groups if report.statuses is not None else {}
        statuses = NodeStatuses(groups, unresolvable(REASON_NOT_HELPFUL))
        nodes = len(self._handle.nodes.all())
        return Diagnosis(nodes, statuses, frozenset(), frozenset()).message()

    def _why_not_eligible(self, pod: Pod, statuses: NodeStatuses) -> str:
        nominated = statuses.of(pod.status.nominated_node_name)
        return why_not_eligible(pod, nominated, self._handle.nodes)

    def _report(self, pod: PodInfo, runs: DryRuns) -> PreemptionReport:
        candidates = tuple(sorted(runs.candidates, key=lambda candidate: candidate.node))
        choice = pick(candidates, self._handle.clock.now()) if candidates else None
        cleared: tuple[str, ...] = ()
        if choice is not None:
            nominated = self._handle.nominated_pods(choice.candidate.node)
            cleared = tuple(sorted(other.key for other in outranked(nominated, pod)))
        return PreemptionReport(
            preemptor=pod.key,
            examined=runs.examined,
            candidates=candidates,
            candidate_count=len(candidates),
            choice=choice,
            cleared_nominations=cleared,
            statuses=NodeStatuses(runs.statuses),
        )

    # -- dry runs ----------------------------------------------------------------------------------------------------

    def _dry_runs(self, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> DryRuns:
        nodes = self._resolvable(statuses)
        if not nodes:
            return DryRuns(0, (), {})
        budgets, now = self._current_budgets(), self._handle.clock.now()
        offset, enough = self.search.bounds(len(nodes))
        found = Found(enough)
        candidates: list[Candidate] = []
        rejected: dict[Status, list[str]] = {}
        for node in (*nodes[offset:], *nodes[:offset]):
            outcome = dry_run(self._handle.what_if, state, pod, node, budgets, now)
            if isinstance(outcome, Status):
                rejected.setdefault(outcome, []).append(node.name)
            elif found.admit(outcome.pdb_violations > 0):
                candidates.append(outcome)
            if found.enough:
                break
        return DryRuns(len(nodes), candidates, rejected)

    def _resolvable(self, statuses: NodeStatuses) -> list[NodeInfo]:
        """The nodes that do not fit now, but might without some of their pods; in the order of the cluster's nodes."""
        codes = {status.code for status in statuses.groups}
        if statuses.absent is not None:
            codes.add(statuses.absent.code)
        if Code.UNSCHEDULABLE not in codes:
            return []
        return [node for node in self._handle.nodes.all() if _code(statuses.of(node.name)) is Code.UNSCHEDULABLE]

    def _current_budgets(self) -> Budgets:
        objects = self._handle.objects
        version = objects.version(PodDisruptionBudget)
        if version != self._budgets_version:
            self._budgets = Budgets(objects.list(PodDisruptionBudget))
            self._budgets_version = version
        return self._budgets


def _code(status: Status | None) -> Code | None:
    return None if status is None else status.code
