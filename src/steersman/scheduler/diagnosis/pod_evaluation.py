# SPDX-License-Identifier: Apache-2.0
"""Evaluates one pod against all nodes of a running scheduler, now, without changing anything.

`explain_now` gives the full explanation, `evaluated` the evaluation for pages, `explain_rejections`
and `cause_now` what rejects the pod. A pod with a node is evaluated as if it had none: it is
removed from the columns temporarily. Everything here runs between two scheduling cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.framework import CycleAborted, CyclePostponed, PodInfo, Status
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.cycle.diagnosis import NO_NODES_MESSAGE, diagnose
from steersman.scheduler.diagnosis.cause import Cause
from steersman.scheduler.diagnosis.cluster_details import STATE_READERS
from steersman.scheduler.diagnosis.details import Details
from steersman.scheduler.diagnosis.explanation import Explanation, NodeExplanation, Outcome, Verdict
from steersman.scheduler.diagnosis.explanation_builder import explain, pre_filter_explanation
from steersman.scheduler.engine.columnar import ColumnarEvaluation
from steersman.scheduler.engine.evaluation import Evaluation
from steersman.scheduler.runtime.profile import Profile

TAKES_TOO_LONG: Final = "the search for devices takes too long to be explained while scheduling"
BEING_DELETED: Final = "the pod is being deleted"

_replace = msgspec.structs.replace

Rows = NDArray[np.intp]


class NotEvaluated(Exception):
    """The pod cannot be evaluated; the text says why."""


class PodEvaluation(NamedTuple):
    """Verdicts of filters and scores on every node. Valid until the cluster changes."""

    scheduler: Scheduler
    profile: Profile
    pod: PodInfo
    evaluation: Evaluation

    def objections(self) -> dict[str, dict[Status, Rows]]:
        """Return the rejected rows by plugin, in the order of the profile, and status. Nominated
        pods count."""
        evaluation, table = self.evaluation, self.scheduler.cache.nodes
        found: dict[str, dict[Status, Rows]] = {}
        if isinstance(evaluation, ColumnarEvaluation):
            found = {name: dict(groups) for name, groups in evaluation.objections().items()}
        for status, names in evaluation.statuses().groups.items():
            known = found.setdefault(status.plugin, {})
            taken = set().union(*(rows.tolist() for rows in known.values()))
            rows = [row for name in names if (row := table.row_of(name)) is not None and row not in taken]
            if rows:
                known[status] = np.array([*known.get(status, ()), *rows], np.intp)
        return found


@contextmanager
def evaluated(scheduler: Scheduler, pod: api.Pod, *, all_nodes: bool = False) -> Iterator[PodEvaluation]:
    """Evaluate the pod as if it had no node, against the nodes of a cycle, or `all_nodes` even if
    cycles sample.

    Raises `NotEvaluated` for a pod that cannot be evaluated. Leave the block before anything else
    runs.
    """
    spec, status = _replace(pod.spec, node_name=""), pod.status
    if pod.spec.node_name:
        status = _replace(status, nominated_node_name="")
    info = scheduler.cache.shapes.info(scheduler.ingest.seen(_replace(pod, spec=spec, status=status)))
    profile = scheduler.profiles.get(info.scheduler_name)
    if profile is None:
        raise NotEvaluated(f"the pod belongs to another scheduler: {info.scheduler_name}")
    preview = scheduler.cycle.preview_all_nodes if all_nodes else scheduler.cycle.preview
    with scheduler.cache.without(info.uid):
        try:
            yield PodEvaluation(scheduler, profile, info, preview(profile, info))
        except CyclePostponed as postponed:
            postponed.work.close()
            raise NotEvaluated(TAKES_TOO_LONG) from postponed
        except CycleAborted as abort:
            raise NotEvaluated(abort.status.message) from abort


def message_of(found: PodEvaluation) -> str:
    """Return kube-scheduler's message for a pod that fits on no node; "" for one that fits."""
    count = found.scheduler.cache.nodes.node_count
    if found.evaluation.feasible_count:
        return ""
    return diagnose(found.evaluation, count).message() if count else NO_NODES_MESSAGE


# -- every plugin and score -------------------------------------------------------------------------


def explain_now(scheduler: Scheduler, pod: api.Pod) -> Explanation | None:
    """Return the explanation of the pod as if it had no node and were tried now; None if it belongs
    to another scheduler. Preemption is not tried."""
    if pod.scheduler_name not in scheduler.profiles:
        return None
    try:
        with evaluated(scheduler, pod, all_nodes=True) as found:
            table = scheduler.cache.nodes
            nodes = [table.info(row) for row in table.live_rows()]
            explanation = explain(found.profile, found.pod, found.evaluation, nodes)
            if pod.spec.node_name:
                return _replace(explanation, node=pod.spec.node_name, outcome=Outcome.SCHEDULED)
            return _with_outcome(found, explanation)
    except NotEvaluated as reason:
        return Explanation(api.key(pod), pod.scheduler_name, Outcome.ERROR, message=str(reason))


def _with_outcome(found: PodEvaluation, explanation: Explanation) -> Explanation:
    """Return the explanation of a pending pod with the outcome that a cycle would have now."""
    if explanation.outcome is not Outcome.UNDECIDED:
        return explanation
    held_back = _held_back(found.profile, found.pod)
    if held_back:
        return _replace(explanation, outcome=Outcome.NOT_TRIED, message=held_back)
    if not found.evaluation.feasible_count:
        return _replace(explanation, outcome=Outcome.UNSCHEDULABLE, message=message_of(found))
    table = found.evaluation.scores()
    best = found.evaluation.feasible() if table is None else table.best()
    return _replace(explanation, node=best[0], ties=len(best))


def _held_back(profile: Profile, pod: PodInfo) -> str:
    """Return why the pod would not be tried; "" if it would."""
    if pod.is_terminating:
        return BEING_DELETED
    status = profile.gate(pod)
    return "" if status is None else f"held back by {status.plugin}: {status.message}"


# -- rejections, from columns -----------------------------------------------------------------------


def explain_rejections(found: PodEvaluation, objections: Mapping[str, Mapping[Status, Rows]]) -> Explanation:
    """Return the explanation of what rejects the pod, without scores, from objections that are
    known.

    A fast form of `explain` for pages: filters without kernels are not called again, and nodes that
    PreFilter excludes have that objection alone.
    """
    evaluation, table = found.evaluation, found.scheduler.cache.nodes
    outcome = evaluation.pre_filter
    needs_state = outcome.status is None and not STATE_READERS.isdisjoint(
        plugin for plugin, groups in objections.items() if groups
    )
    details = Details(found.pod, found.profile, evaluation.scalar_state() if needs_state else None)
    by_row: dict[int, list[Status]] = {}
    for groups in objections.values():
        for status, rows in groups.items():
            for row in rows.tolist():
                by_row.setdefault(row, []).append(status)
    shared: dict[tuple[Status, int], Verdict] = {}
    nodes = tuple(
        NodeExplanation(
            table.names[row],
            row not in by_row and outcome.status is None,
            tuple(_verdict(found, details, shared, status, row) for status in by_row.get(row, ())),
        )
        for row in sorted(table.live_rows())
    )
    return Explanation(
        found.pod.key,
        found.profile.name,
        Outcome.UNDECIDED if evaluation.feasible_count else Outcome.UNSCHEDULABLE,
        message_of(found),
        nominated_only=evaluation.nominated_path,
        pre_filter=pre_filter_explanation(outcome),
        nodes=nodes,
    )


def cause_now(found: PodEvaluation, objections: Mapping[str, Mapping[Status, Rows]] | None = None) -> Cause:
    """Return why the pod fits on no node, or that it fits. `objections` are those of `found`, if
    known."""
    if found.evaluation.feasible_count:
        count, fitting = found.scheduler.cache.nodes.node_count, found.evaluation.feasible_count
        fits = tuple(NodeExplanation(str(index), index < fitting) for index in range(count))
        return Explanation(found.pod.key, found.profile.name, Outcome.UNDECIDED, nodes=fits).cause
    return explain_rejections(found, found.objections() if objections is None else objections).cause


def _verdict(
    found: PodEvaluation,
    details: Details,
    shared: dict[tuple[Status, int], Verdict],
    status: Status,
    row: int,
) -> Verdict:
    """Return the verdict with details; verdicts about taints are shared by nodes with equal
    taints."""
    table = found.scheduler.cache.nodes
    if status.plugin != "TaintToleration":
        return details.verdict(status, table.info(row))
    key = status, int(table.taints.ids[row])
    if key not in shared:
        shared[key] = details.verdict(status, table.info(row))
    return shared[key]
