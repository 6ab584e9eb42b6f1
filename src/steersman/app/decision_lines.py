# SPDX-License-Identifier: Apache-2.0
"""Attempts, bindings and preemptions as lines of the log, with kube-scheduler's texts and verbosities.

    0  an attempt or a binding that failed       2  bindings, pods that fit nowhere, victims of preemption
    3  every attempt and its choice              4  how many nodes were looked at, and why they do not fit
    5  the best nodes with their scores         10  every score of every plugin on every node

Observes the scheduler. `event_lines` has what comes from the API server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.assembly import AttemptObserver
from steersman.cycle.decision import Decision, Failed, Postponed, Scheduled, Unschedulable
from steersman.cycle.diagnosis import reason_histogram
from steersman.engine.evaluation import Evaluation, ScoreTable
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import CycleAborted
from steersman.observe import Log, ObjectRef
from steersman.observe.logs import Silence
from steersman.preemption import DefaultPreemption
from steersman.queue import QueuedPodInfo
from steersman.runtime.profile import Profile
from steersman.state.node_table import NodeTable

ATTEMPT: Final = "Attempting to schedule pod"
LOOKED_AT: Final = "Looked at nodes for pod"
BEST: Final = "Scored nodes for pod"
PLUGIN_SCORE: Final = "Plugin scored node for pod"
FINAL_SCORE: Final = "Calculated node's final score for pod"
CHOSEN: Final = "Attempting to bind pod to node"
BOUND: Final = "Successfully bound pod to node"
NO_FIT: Final = "Unable to schedule pod; no fit; waiting"
NO_NODES: Final = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
FAULT: Final = "Error scheduling pod; retrying"
SKIPPED: Final = "Skip schedule pod"
POSTPONED: Final = "Scheduling cycle postponed"
PREEMPTED: Final = "Preemptor Pod preempted victim Pod"
PREEMPTED_IN_MEMORY: Final = "Preemptor called off the binding of victim Pod"

#: So many nodes are shown with their scores.
_BEST_NODES: Final = 5


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

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        pod = _ref(decision.pod)
        if isinstance(decision, Failed):
            if decision.is_reported:
                self._log.error(FAULT, pod=pod, err=decision.message)
        elif decision.diagnosis.all_nodes:
            self._outcomes.info(NO_FIT, pod=pod, err=decision.message)
        else:
            self._outcomes.info(NO_NODES, pod=pod)

    def carried_out(self, decision: Decision) -> None:
        if not isinstance(self._choices, Log):
            return
        if isinstance(decision, Scheduled):
            self._choices.info(CHOSEN, pod=_ref(decision.pod), node=decision.node)
        elif isinstance(decision, Postponed):
            self._choices.info(POSTPONED, pod=_ref(decision.pod))
        elif not isinstance(decision, Unschedulable | Failed):
            self._choices.info(SKIPPED, pod=_ref(decision.pod), reason=decision.reason)

    def preempted(self, preemptor: PodInfo, victim: PodInfo, node: str, in_memory: bool) -> None:
        """Writes the line about a victim; the executors of preemption tell of it."""
        text = PREEMPTED_IN_MEMORY if in_memory else PREEMPTED
        self._outcomes.info(text, preemptor=_ref(preemptor), victim=_ref(victim), node=node)


class AttemptLines(AttemptObserver):
    """Lines about the nodes and scores that every attempt looks at. Only for verbosities at which that is wanted: it makes
    evaluations work everything out."""

    def __init__(self, log: Log | Silence, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._attempts = log.v(3)
        self._filtered = log.v(4)
        self._best = log.v(5)
        self._scores = log.v(10)

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._attempts.info(ATTEMPT, pod=_ref(pod))
        if isinstance(self._filtered, Log):
            self._show_filters(self._filtered, pod, evaluation)
        if isinstance(self._best, Log) and (table := _table(evaluation)) is not None:
            self._show_scores(self._best, pod, table)

    def _show_filters(self, log: Log, pod: PodInfo, evaluation: Evaluation) -> None:
        rejected = reason_histogram(evaluation.statuses(), self._nodes.node_count)
        fitting = evaluation.feasible_count
        log.info(LOOKED_AT, pod=_ref(pod), feasibleNodes=fitting, rejected=", ".join(rejected))

    def _show_scores(self, log: Log, pod: PodInfo, table: ScoreTable) -> None:
        shown = " ".join(f"{node}={total}" for node, total in table.top("", _BEST_NODES))
        log.info(BEST, pod=_ref(pod), nodes=len(table.nodes), best=shown)
        if not isinstance(self._scores, Log):
            return
        for row, node in enumerate(table.nodes):
            for plugin in table.plugins:
                weighted = plugin.weight * int(plugin.normalised[row])
                self._scores.info(PLUGIN_SCORE, pod=_ref(pod), plugin=plugin.name, node=node, score=weighted)
            self._scores.info(FINAL_SCORE, pod=_ref(pod), node=node, score=int(table.total[row]))


def log_preemptions(profiles: Iterable[Profile], lines: DecisionLines) -> None:
    """From now on every victim that goes is a line."""
    for profile in profiles:
        plugin = profile.plugins.get(DefaultPreemption.name)
        if isinstance(plugin, DefaultPreemption):
            plugin.executor.on_preempted = lines.preempted


def _table(evaluation: Evaluation) -> ScoreTable | None:
    """None where nothing is scored, or a plugin is broken: the cycle itself will say so."""
    try:
        return None if evaluation.nominated_path or not evaluation.feasible_count else evaluation.scores()
    except CycleAborted:
        return None


def _ref(pod: PodInfo) -> ObjectRef:
    return ObjectRef(pod.pod.metadata.namespace, pod.name)
