"""The plain dry run: which pods of one node would have to go, found by asking the plugins as upstream does.

All pods of lower priority are taken from a copy of the node; if the pod fits then, they are put back one by one, most
important first, as long as it still fits. Those that violate a disruption budget are tried first. What cannot be put back
is a victim. `column_dry_run` does the same for many nodes at once where the filters allow it.
"""

from __future__ import annotations

from steersman.framework.cycle_state import CycleState
from steersman.framework.handle import WhatIf
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted, Status, error, unresolvable
from steersman.preemption.candidates import Candidate
from steersman.preemption.disruption_budgets import Budgets
from steersman.preemption.importance import by_importance
from steersman.state.plain_node import PlainNodeInfo

REASON_NO_VICTIMS = "No preemption victims found for incoming pod"
REASON_NO_NEED = 'expected at least one victim pod on node "{}"'


def dry_run(
    what_if: WhatIf, state: CycleState, pod: PodInfo, node: NodeInfo, budgets: Budgets, now: float
) -> Candidate | Status:
    """The node as a candidate, or why it is none. `state` is not changed."""
    try:
        return _DryRun(what_if, state.clone(), pod, PlainNodeInfo.copy_of(node)).run(budgets, now)
    except CycleAborted as abort:
        return error(abort.status.message)


class _DryRun:
    """One node that is being emptied and filled again, with the plugins' state for it."""

    def __init__(self, what_if: WhatIf, state: CycleState, pod: PodInfo, node: PlainNodeInfo) -> None:
        self._what_if = what_if
        self._state = state
        self._pod = pod
        self._node = node

    def run(self, budgets: Budgets, now: float) -> Candidate | Status:
        removable = [other for other in self._node.pods if other.priority < self._pod.priority]
        if not removable:
            return unresolvable(REASON_NO_VICTIMS)
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
