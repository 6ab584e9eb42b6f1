# SPDX-License-Identifier: Apache-2.0
"""Matrix of a pod: nodes × plugins, verdicts and scores, in columns with codes.

It is read from the kernels of the engine, so that 5,000 nodes × 14 plugins take milliseconds.
Verdicts are indices into the list of distinct verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman import api
from steersman.framework import Status
from steersman.sandbox.web.answers import WebPart
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.diagnosis import (
    Cause,
    Outcome,
    PodEvaluation,
    PreemptionExplanation,
    Rows,
    cause_now,
    evaluated,
    message_of,
)
from steersman.scheduler.engine import ScoreTable

PASSES: Final = -1
NOT_ASKED: Final = -2


class VerdictText(WebPart, frozen=True, omit_defaults=True):
    """A plugin's objection to nodes, with kube-scheduler's texts."""

    plugin: str
    code: str
    reasons: tuple[str, ...] = ()


class FilterColumn(WebPart, frozen=True):
    """Codes by node: an index into the verdicts, PASSES or NOT_ASKED; empty if the plugin is
    skipped."""

    plugin: str
    skipped: bool
    verdict: list[int]


class ScoreColumn(WebPart, frozen=True):
    """Scores of the scored nodes; empty if the plugin is skipped."""

    plugin: str
    weight: int
    skipped: bool
    raw: list[int]
    normalised: list[int]
    weighted: list[int]


class PreFilterVerdict(WebPart, frozen=True, omit_defaults=True):
    skipped: tuple[str, ...] = msgspec.field(default_factory=tuple)
    rejection: VerdictText | None = None
    nodes: tuple[str, ...] | None = None
    restricted_by: tuple[str, ...] = ()


class PodMatrix(WebPart, frozen=True):
    """All nodes and plugins for one pod: `Matrix` in docs/web-api.md. Lists of nodes, and of scored
    nodes, are aligned."""

    pod: str
    profile: str
    source: str
    at: float
    outcome: Outcome
    message: str
    node: str
    #: Node of the pod; "" if it has none.
    placed_on: str
    ties: int
    lead: int | None
    nominated_only: bool
    nodes: list[str]
    row: list[int]
    fits: list[int]
    objections: list[int]
    pre_filter: PreFilterVerdict
    filters: list[FilterColumn]
    verdicts: list[VerdictText]
    scored: list[int]
    total: list[int]
    scores: list[ScoreColumn]
    cause: Cause
    preemption: PreemptionExplanation | msgspec.UnsetType = msgspec.UNSET


class _VerdictCodes:
    """Distinct verdicts and their codes."""

    def __init__(self) -> None:
        self._codes: dict[VerdictText, int] = {}

    def code(self, status: Status) -> int:
        return self._codes.setdefault(verdict_text(status), len(self._codes))

    @property
    def texts(self) -> list[VerdictText]:
        return list(self._codes)


def verdict_text(status: Status) -> VerdictText:
    return VerdictText(status.plugin, status.code.label, status.reasons)


def matrix_now(scheduler: Scheduler, pod: api.Pod, preemption: PreemptionExplanation | None = None) -> PodMatrix:
    """Return the matrix of all nodes and plugins for the pod now. Raises `NotEvaluated`."""
    with evaluated(scheduler, pod) as found:
        return _matrix(found, pod, preemption)


def recorded(matrix: PodMatrix, node: str) -> PodMatrix:
    """Return the matrix as that of a past attempt with this node; "" if there was none or it is
    unknown."""
    if not node:
        return msgspec.structs.replace(matrix, source="recorded")
    return msgspec.structs.replace(matrix, source="recorded", node=node, outcome=Outcome.SCHEDULED)


def _matrix(found: PodEvaluation, pod: api.Pod, preemption: PreemptionExplanation | None) -> PodMatrix:
    scheduler, evaluation = found.scheduler, found.evaluation
    table = scheduler.cache.nodes
    rows = np.array(sorted(table.live_rows()), np.intp)
    index = np.full(table.capacity, -1, np.intp)
    index[rows] = np.arange(len(rows))
    objections, outcome = found.objections(), evaluation.pre_filter
    columns, verdicts, counts = _filter_columns(found, objections, rows, index)
    scores = None if evaluation.nominated_path else evaluation.scores()
    fitting = set(evaluation.feasible())
    names = [table.names[row] for row in rows.tolist()]
    chosen, ties, lead = _choice(found, scores, pod.spec.node_name)
    restricted = outcome.node_names
    return PodMatrix(
        pod=found.pod.key,
        profile=found.profile.name,
        source="now",
        at=scheduler.clock.now(),
        outcome=Outcome.UNDECIDED if evaluation.feasible_count else Outcome.UNSCHEDULABLE,
        message=message_of(found),
        node=chosen,
        placed_on=pod.spec.node_name,
        ties=ties,
        lead=lead,
        nominated_only=evaluation.nominated_path,
        nodes=names,
        row=rows.tolist(),
        fits=[int(name in fitting) for name in names],
        objections=counts.tolist(),
        pre_filter=PreFilterVerdict(
            tuple(sorted(outcome.skipped)),
            None if outcome.status is None else verdict_text(outcome.status),
            None if restricted is None else tuple(sorted(restricted)),
            tuple(sorted(outcome.restricting)),
        ),
        filters=columns,
        verdicts=verdicts,
        scored=[] if scores is None else _positions(found, scores, index),
        total=[] if scores is None else [int(total) for total in scores.total],
        scores=_score_columns(found, scores),
        cause=cause_now(found, objections),
        preemption=msgspec.UNSET if preemption is None else preemption,
    )


def _filter_columns(
    found: PodEvaluation, objections: Mapping[str, Mapping[Status, Rows]], rows: Rows, index: Rows
) -> tuple[list[FilterColumn], list[VerdictText], NDArray[np.int64]]:
    """Return a column per filter of the profile, the verdicts, and the number of objections to each
    node."""
    codes, columns, counts = _VerdictCodes(), list[FilterColumn](), np.zeros(len(rows), np.int64)
    not_asked = _not_asked(found, rows)
    for call in found.profile.filter:
        groups = objections.get(call.name)
        if call.name in found.evaluation.pre_filter.skipped and not groups:
            columns.append(FilterColumn(call.name, True, []))
            continue
        column = np.where(not_asked, NOT_ASKED, PASSES)
        for status, rejected in (groups or {}).items():
            column[index[rejected]] = codes.code(status)
        counts += column >= 0
        columns.append(FilterColumn(call.name, False, column.tolist()))
    return columns, codes.texts, counts


def _not_asked(found: PodEvaluation, rows: Rows) -> NDArray[np.bool_]:
    """Return which nodes are not filtered, because PreFilter rejected the pod or excluded them."""
    outcome, names = found.evaluation.pre_filter, found.scheduler.cache.nodes.names
    if outcome.status is not None:
        return np.ones(len(rows), np.bool_)
    if outcome.node_names is None:
        return np.zeros(len(rows), np.bool_)
    return np.array([names[row] not in outcome.node_names for row in rows.tolist()], np.bool_)


def _positions(found: PodEvaluation, scores: ScoreTable, index: Rows) -> list[int]:
    rows = found.scheduler.cache.nodes.rows
    return [int(index[rows[name]]) for name in scores.nodes]


def _choice(found: PodEvaluation, scores: ScoreTable | None, node: str) -> tuple[str, int, int | None]:
    """Return the node that would be chosen now (the pod's own `node` among equals), the number of
    equals, and its lead."""
    evaluation = found.evaluation
    if scores is None:
        fitting = evaluation.feasible()
        return node if node in fitting else next(iter(fitting), ""), len(fitting), None
    best = max(scores.total)
    others = [total for total in scores.total if total != best]
    winners = scores.best()
    return node if node in winners else winners[0], len(winners), int(best - max(others)) if others else None


def _score_columns(found: PodEvaluation, scores: ScoreTable | None) -> list[ScoreColumn]:
    """Return one column per score plugin, in the order of the profile."""
    by_name = {} if scores is None else {column.name: column for column in scores.plugins}
    columns = []
    for call in found.profile.score:
        scored = by_name.get(call.name)
        if scored is None:
            columns.append(ScoreColumn(call.name, call.weight, True, [], [], []))
            continue
        raw, normalised = [int(each) for each in scored.raw], [int(each) for each in scored.normalised]
        weighted = [scored.weight * each for each in normalised]
        columns.append(ScoreColumn(call.name, scored.weight, False, raw, normalised, weighted))
    return columns
