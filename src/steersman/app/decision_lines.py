# SPDX-License-Identifier: Apache-2.0
"""Decisions and bindings as lines of the log, with kube-scheduler's texts and verbosities.

Observes the scheduler.
"""

from __future__ import annotations

from typing import Final

from steersman.assembly import AttemptObserver
from steersman.cycle.decision import Decision, Failed, Postponed, Scheduled, Unschedulable
from steersman.framework.pod_info import PodInfo
from steersman.observe import Log, ObjectRef
from steersman.observe.logs import Silence
from steersman.state.node_table import NodeTable

CHOSEN: Final = "Attempting to bind pod to node"
BOUND: Final = "Successfully bound pod to node"
NO_FIT: Final = "Unable to schedule pod; no fit; waiting"
FAULT: Final = "Error scheduling pod; retrying"
SKIPPED: Final = "Skip schedule pod"
POSTPONED: Final = "Scheduling cycle postponed"


class DecisionLines(AttemptObserver):
    """Which of the lines are wanted is decided once."""

    def __init__(self, log: Log | Silence, nodes: NodeTable) -> None:
        self._log = log
        self._nodes = nodes
        self._outcomes = log.v(2)
        self._choices = log.v(3)

    def bound(self, decision: Scheduled) -> None:
        if isinstance(self._outcomes, Log):
            # Columns are of all nodes: each of them was looked at.
            looked_at, fitting = self._nodes.node_count, decision.feasible_nodes
            pod = _ref(decision.pod)
            self._outcomes.info(BOUND, pod=pod, node=decision.node, evaluatedNodes=looked_at, feasibleNodes=fitting)

    def carried_out(self, decision: Decision) -> None:
        pod = _ref(decision.pod)
        if isinstance(decision, Scheduled):
            self._choices.info(CHOSEN, pod=pod, node=decision.node)
        elif isinstance(decision, Unschedulable):
            self._outcomes.info(NO_FIT, pod=pod, err=decision.message)
        elif isinstance(decision, Failed):
            self._log.error(FAULT, pod=pod, err=decision.message)
        elif isinstance(decision, Postponed):
            self._choices.info(POSTPONED, pod=pod)
        else:
            self._choices.info(SKIPPED, pod=pod, reason=decision.reason)


def _ref(pod: PodInfo) -> ObjectRef:
    return ObjectRef(pod.pod.metadata.namespace, pod.name)
