# SPDX-License-Identifier: Apache-2.0
"""Log lines about attempts, bindings, preemptions, events and queue moves, with upstream's texts.

    0  an attempt or a binding that failed       2  bindings, pods that fit nowhere, victims of preemption
    3  every attempt and its choice, nodes and   4  number of evaluated nodes, and why others do not fit; updates of
       pods that come and go, failed attempts       nodes and pods
    5  the best nodes with their scores, moves  10  every score of every plugin on every node
       between the queues

`log_decisions` logs what the scheduler does, `with_event_lines` what the API server sends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman import api
from steersman.framework import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ASSIGNED_POD_UPDATE,
    DEFAULT_POD_EVENTS,
    NODE_ADD,
    NODE_DELETE,
    ClusterEvent,
    CycleAborted,
    EventSink,
    PodEvents,
    PodInfo,
    fault_prefix,
)
from steersman.kube.client import BINDING, FailureLog
from steersman.kube.observe import NODE_UPDATE, HandledEvents, Log, NullLog, ObjectRef
from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle import Decision, Failed, Postponed, Scheduled, Unschedulable, reason_histogram
from steersman.scheduler.engine import Evaluation, ScoreTable
from steersman.scheduler.preemption import Preemptor, default_preemptions
from steersman.scheduler.queue import (
    POP_FROM_BACKOFF_QUEUE,
    SCHEDULE_ATTEMPT_FAILURE,
    CountingQueueMetrics,
    Queued,
    QueuedPodInfo,
)
from steersman.scheduler.runtime import Profile
from steersman.scheduler.state import NodeTable

ATTEMPT: Final = "Attempting to schedule pod"
EVALUATED: Final = "Evaluated nodes for pod"
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

_BINDING_FAULT: Final = fault_prefix("Bind", "DefaultBinder")
#: Verbosity of single failures whose shared cause `client.failure_log` logs once.
_SHARED_CAUSE_VERBOSITY: Final = 4

#: Number of nodes whose scores are logged.
_BEST_NODES: Final = 5


def log_decisions(
    scheduler: Scheduler, queue_metrics: CountingQueueMetrics, log: Log | NullLog, failure_log: FailureLog
) -> None:
    """Log attempts, bindings, preemptions and queue moves, as far as the verbosity allows."""
    nodes = scheduler.cache.nodes
    lines = DecisionLines(log, nodes, failure_log)
    _log_preemptions(scheduler.profiles.values(), lines)
    scheduler.observe(lines)
    if isinstance(log.v(_MIN_VERBOSITY), Log):
        scheduler.observe(AttemptLines(log, nodes))
        queue_metrics.on_entered = QueueLines(log).entered


def with_event_lines(sink: EventSink, scheduler: Scheduler, log: Log | NullLog) -> EventSink:
    """Return the sink, which also logs events if the verbosity allows."""
    wants_lines = isinstance(log.v(_MIN_VERBOSITY), Log)
    return EventLines(sink, HandledEvents(scheduler), log) if wants_lines else sink


class DecisionLines(AttemptObserver):
    """Logs the results of attempts; verbosities are checked once, at creation."""

    def __init__(self, log: Log | NullLog, nodes: NodeTable, failure_log: FailureLog) -> None:
        self._log = log
        self._nodes = nodes
        self._failure_log = failure_log
        self._outcomes = log.v(2)
        self._choices = log.v(3)

    def bound(self, decision: Scheduled) -> None:
        if isinstance(self._outcomes, Log):
            # Columns contain all nodes, so all were evaluated.
            looked_at, fitting = self._nodes.node_count, decision.feasible_nodes
            pod = _ref(decision.pod)
            self._outcomes.info(BOUND, pod=pod, node=decision.node, evaluatedNodes=looked_at, feasibleNodes=fitting)

    def failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        pod = _ref(decision.pod)
        if isinstance(decision, Failed):
            if decision.is_reported:
                self._log_of(decision).error(FAULT, pod=pod, err=decision.message)
        elif decision.diagnosis.all_nodes:
            self._outcomes.info(NO_FIT, pod=pod, err=decision.message)
        else:
            self._outcomes.info(NO_NODES, pod=pod)

    def _log_of(self, failure: Failed) -> Log | NullLog:
        """Return the log for a failure: that of a binding with a shared cause is more verbose."""
        is_shared = self._failure_log.is_failing(BINDING) and failure.message.startswith(_BINDING_FAULT)
        return self._log.v(_SHARED_CAUSE_VERBOSITY) if is_shared else self._log

    def carried_out(self, decision: Decision) -> None:
        if not isinstance(self._choices, Log):
            return
        if isinstance(decision, Scheduled):
            self._choices.info(CHOSEN, pod=_ref(decision.pod), node=decision.node)
        elif isinstance(decision, Postponed):
            self._choices.info(POSTPONED, pod=_ref(decision.pod))
        elif not isinstance(decision, Unschedulable | Failed):
            self._choices.info(SKIPPED, pod=_ref(decision.pod), reason=decision.reason)

    def preempted(self, preemptor: Preemptor, victim: PodInfo, node: str, in_memory: bool) -> None:
        """Log a victim; called by the preemption executor."""
        text = PREEMPTED_IN_MEMORY if in_memory else PREEMPTED
        by = ObjectRef(preemptor.namespace, preemptor.name)
        self._outcomes.info(text, preemptor=by, victim=_ref(victim), node=node)


class AttemptLines(AttemptObserver):
    """Logs nodes and scores of every attempt. Use it only at verbosities that need it: it makes
    evaluations compute everything."""

    def __init__(self, log: Log | NullLog, nodes: NodeTable) -> None:
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
        log.info(EVALUATED, pod=_ref(pod), feasibleNodes=fitting, rejected=", ".join(rejected))

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


def _log_preemptions(profiles: Iterable[Profile], lines: DecisionLines) -> None:
    """Log every future victim."""
    for plugin in default_preemptions(profiles):
        plugin.executor.on_preempted = lines.preempted


def _table(evaluation: Evaluation) -> ScoreTable | None:
    """Return the scores; None without scores, or if a plugin fails (the cycle reports it)."""
    try:
        return None if evaluation.nominated_path or not evaluation.feasible_count else evaluation.scores()
    except CycleAborted:
        return None


def _ref(pod: PodInfo) -> ObjectRef:
    return ObjectRef(pod.pod.metadata.namespace, pod.name)


MOVED: Final = "Pod moved to an internal scheduling queue"
GATED: Final = "Pod moved to an internal scheduling queue, because the pod is gated"
#: Names in kube-scheduler's log.
_QUEUES: Final = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}

#: Minimum verbosity at which every attempt and event is logged.
_MIN_VERBOSITY: Final = 3


def _texts_of(events: PodEvents) -> dict[ClusterEvent, tuple[int, str]]:
    return {
        events.unscheduled_add: (3, "Add event for unscheduled pod"),
        events.unscheduled_update: (4, "Update event for unscheduled pod"),
        events.unscheduled_delete: (3, "Delete event for unscheduled pod"),
    }


_TEXTS: Final[dict[ClusterEvent, tuple[int, str]]] = {
    NODE_ADD: (3, "Add event for node"),
    NODE_UPDATE: (4, "Update event for node"),
    NODE_DELETE: (3, "Delete event for node"),
    ASSIGNED_POD_ADD: (3, "Add event for scheduled pod"),
    ASSIGNED_POD_UPDATE: (4, "Update event for scheduled pod"),
    ASSIGNED_POD_DELETE: (3, "Delete event for scheduled pod"),
    **_texts_of(DEFAULT_POD_EVENTS),
    **_texts_of(PodEvents(by_role=True)),
}


class EventLines:
    """An `EventSink` that logs events and passes them on."""

    def __init__(self, sink: EventSink, handled: HandledEvents, log: Log | NullLog) -> None:
        self._sink = sink
        self._handled = handled
        self._texts = {event: (log.v(level), text) for event, (level, text) in _TEXTS.items()}

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._sink.expect(kind, count)

    def changed(self, obj: api.Object) -> None:
        self._log_change(self._handled.last_version(obj), obj)
        self._sink.changed(obj)

    def deleted(self, obj: api.Object) -> None:
        self._log_change(self._handled.last_version(obj), None)
        self._sink.deleted(obj)

    def _log_change(self, old: api.Object | None, new: api.Object | None) -> None:
        obj = new if new is not None else old
        if not isinstance(obj, api.Pod | api.Node):
            return
        kind = "pod" if isinstance(obj, api.Pod) else "node"
        for event in self._handled.between(old, new):
            log, text = self._texts[event]
            log.info(text, **{kind: ObjectRef(obj.metadata.namespace, obj.metadata.name)})


class QueueLines:
    """Logs pods that enter a queue (`CountingQueueMetrics.on_entered`)."""

    def __init__(self, log: Log | NullLog) -> None:
        self._failures = log.v(3)
        self._moves = log.v(5)

    def entered(self, queued: Queued, queue: str, event: str) -> None:
        """Log the move. Pods popped from backoffQ do not enter activeQ."""
        if event == POP_FROM_BACKOFF_QUEUE:
            return
        meta = queued.pod.metadata
        pod, name = ObjectRef(meta.namespace, meta.name), _QUEUES[queue]
        if event == SCHEDULE_ATTEMPT_FAILURE:
            plugins = ",".join(sorted(queued.rejectors))
            self._failures.info(MOVED, pod=pod, event=event, queue=name, unschedulablePlugins=plugins)
        else:
            self._moves.info(GATED if queued.is_gated else MOVED, pod=pod, event=event, queue=name)
