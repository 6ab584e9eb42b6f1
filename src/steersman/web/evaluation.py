# SPDX-License-Identifier: Apache-2.0
"""One pod against all nodes as they are now, for pages: by the engine that schedules, and nothing stays changed.

A pod that has a node is looked at as if it had none: for the moment of the evaluation it is taken out of the columns. All of
this happens in the loop that schedules, between two pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.assembly import Scheduler
from steersman.cycle.diagnosis import NO_NODES_MESSAGE, diagnose
from steersman.engine.columnar import ColumnarEvaluation
from steersman.engine.evaluation import Evaluation
from steersman.explain import Cause, Explanation, NodeExplanation, Outcome
from steersman.explain.details import Details, rejection
from steersman.explain.explanation import PreFilterExplanation, Verdict
from steersman.framework.pod_info import PodInfo
from steersman.framework.postponement import CyclePostponed
from steersman.framework.status import CycleAborted, Status
from steersman.observe.decisions import TAKES_TOO_LONG
from steersman.runtime.profile import Profile

_replace = msgspec.structs.replace
_NEED_STATE: Final = frozenset(("InterPodAffinity", "PodTopologySpread", "VolumeBinding", "DynamicResources"))
"""Plugins whose objections are told in more words by what PreFilter counts."""

Rows = NDArray[np.intp]


class NotEvaluated(Exception):
    """The pod cannot be looked at; the text says why."""


class PodEvaluation(NamedTuple):
    """The verdicts of filters and scores on every node. Valid until the cluster changes."""

    scheduler: Scheduler
    profile: Profile
    pod: PodInfo
    evaluation: Evaluation

    def objections(self) -> dict[str, dict[Status, Rows]]:
        """By plugin, in the order of the profile: the rows to which it objects, by what it says. Nominated pods count."""
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
def evaluated(scheduler: Scheduler, pod: api.Pod) -> Iterator[PodEvaluation]:
    """The pod as if it had no node; NotEvaluated if nothing can be said of it. Not to be held across anything else."""
    spec, status = _replace(pod.spec, node_name=""), pod.status
    if pod.spec.node_name:
        status = _replace(status, nominated_node_name="")
    info = scheduler.cache.shapes.info(scheduler.ingest.seen(_replace(pod, spec=spec, status=status)))
    profile = scheduler.profiles.get(info.scheduler_name)
    if profile is None:
        raise NotEvaluated(f"the pod is left to another scheduler: {info.scheduler_name}")
    with scheduler.cache.without(info.uid):
        try:
            yield PodEvaluation(scheduler, profile, info, scheduler.cycle.preview(profile, info))
        except CyclePostponed as postponed:
            postponed.work.close()
            raise NotEvaluated(TAKES_TOO_LONG) from postponed
        except CycleAborted as abort:
            raise NotEvaluated(abort.status.message) from abort


def explanation_of(found: PodEvaluation, objections: Mapping[str, Mapping[Status, Rows]]) -> Explanation:
    """An explanation without scores: what stands in the pod's way, node by node."""
    evaluation, table = found.evaluation, found.scheduler.cache.nodes
    outcome = evaluation.pre_filter
    needs_state = outcome.status is None and not _NEED_STATE.isdisjoint(
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
        pre_filter=PreFilterExplanation(
            skipped=tuple(sorted(outcome.skipped)),
            rejection=None if outcome.status is None else rejection(outcome.status),
        ),
        nodes=nodes,
    )


def message_of(found: PodEvaluation) -> str:
    """kube-scheduler's message, of a pod that fits nowhere; "" otherwise."""
    count = found.scheduler.cache.nodes.node_count
    if found.evaluation.feasible_count:
        return ""
    return diagnose(found.evaluation, count).message() if count else NO_NODES_MESSAGE


def cause_now(found: PodEvaluation, objections: Mapping[str, Mapping[Status, Rows]] | None = None) -> Cause:
    """Why the pod fits nowhere, or that it fits. `objections`: what `found` objects to, if that is known already."""
    if found.evaluation.feasible_count:
        count, fitting = found.scheduler.cache.nodes.node_count, found.evaluation.feasible_count
        fits = tuple(NodeExplanation(str(index), index < fitting) for index in range(count))
        return Explanation(found.pod.key, found.profile.name, Outcome.UNDECIDED, nodes=fits).cause
    return explanation_of(found, found.objections() if objections is None else objections).cause


def _verdict(
    found: PodEvaluation, details: Details, shared: dict[tuple[Status, int], Verdict], status: Status, row: int
) -> Verdict:
    """A verdict in words. Those about taints are the same for all nodes with the same taints."""
    table = found.scheduler.cache.nodes
    if status.plugin != "TaintToleration":
        return details.verdict(status, table.info(row))
    key = status, int(table.taints.ids[row])
    if key not in shared:
        shared[key] = details.verdict(status, table.info(row))
    return shared[key]
