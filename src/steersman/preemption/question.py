"""What is asked of a dry run: can this pod have room, at whose cost? Made by the evaluator, answered with `DryRuns`."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import WhatIf
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.preemption.candidates import Candidate
from steersman.preemption.disruption_budgets import Budgets
from steersman.preemption.dry_run import dry_run
from steersman.preemption.search import Search


@dataclass(frozen=True, slots=True)
class Question:
    """One pod that fits nowhere, and everything that the answer depends on besides the nodes."""

    pod: PodInfo
    #: Why nodes do not fit now, and the cycle's state for what-if questions about them.
    statuses: NodeStatuses
    state: CycleState
    what_if: WhatIf
    budgets: Budgets
    #: How far to look.
    search: Search
    #: Whether all candidates are to be listed, and why other nodes are none. The choice is the same.
    detailed: bool
    #: Seconds since the epoch.
    now: float

    def about(self, node: NodeInfo) -> Candidate | Status:
        """The plain dry run of one node."""
        return dry_run(self.what_if, self.state, self.pod, node, self.budgets, self.now)
