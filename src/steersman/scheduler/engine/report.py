# SPDX-License-Identifier: Apache-2.0
"""Diagnosis and score tables from the kernels of a signature: the slow part of the columnar engine.

Used when a pod did not fit, and for explanations; never for a successful placement. Statuses of
many nodes are stored by row: names are looked up on demand, and preemption works on rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.framework import (
    AnyIntColumn,
    BoolColumn,
    ClusterFilterKernel,
    ClusterScoreKernel,
    CycleState,
    Feasible,
    PodInfo,
    Status,
)
from steersman.scheduler.engine import scalar
from steersman.scheduler.engine.columns import normalise
from steersman.scheduler.engine.evaluation import NodeStatuses, PluginScores, ScoreTable
from steersman.scheduler.engine.evaluation_plan import FilterStep, Plan
from steersman.scheduler.engine.signatures import FilterPart, ScorePart, SignatureEntry
from steersman.scheduler.state.node_table import NodeTable

RowIndex = NDArray[np.intp]


def rows_by_status(statuses: Mapping[int, Status]) -> dict[Status, RowIndex]:
    """Group the rows by status."""
    found: dict[Status, list[int]] = {}
    for row, status in statuses.items():
        found.setdefault(status, []).append(row)
    return {status: np.array(rows, np.intp) for status, rows in found.items()}


class RowStatuses(NodeStatuses):
    """Statuses by row. `names` are those of all rows at the time of the evaluation."""

    __slots__ = ("_named", "names", "rows")

    def __init__(self, rows: Mapping[Status, RowIndex], names: Sequence[str], absent: Status | None = None) -> None:
        super().__init__(None, absent)
        #: Evaluated rows by status; no row occurs twice.
        self.rows = rows
        self.names = names
        self._named = False

    @property
    def groups(self) -> dict[Status, list[str]]:
        if not self._named:
            names = self.names
            self._groups = {status: [names[row] for row in rows.tolist()] for status, rows in self.rows.items()}
            self._named = True
        return self._groups

    def counts(self) -> Iterable[tuple[Status, int]]:
        return ((status, len(rows)) for status, rows in self.rows.items())


_SMALL_IDS = 1 << 12
#: Rows by status, as a list of arrays.
Groups = dict[Status, list[RowIndex]]


def diagnose_rows(
    plan: Plan,
    entry: SignatureEntry,
    table: NodeTable,
    state: CycleState,
    pod: PodInfo,
    candidates: BoolColumn,
    overruled: Iterable[Mapping[Status, RowIndex]],
) -> dict[Status, RowIndex]:
    """Return the statuses of rejected candidate rows, each by the first plugin that rejects it, or
    from `overruled`."""
    groups: Groups = {}
    remaining = candidates.copy()
    for found in overruled:
        _take(found, remaining, groups)
    parts = {step.name: part for step, part in entry.filters}
    for step in plan.filters:
        if step.name in state.skip_filter:
            continue
        if step.is_live:
            _ask_live(step, table, state, pod, remaining, groups)
        elif step.name in parts:
            _read_part(step, parts[step.name], remaining, groups)
    return {status: np.concatenate(pieces) for status, pieces in groups.items()}


def objections_of_all(
    plan: Plan, entry: SignatureEntry, table: NodeTable, state: CycleState, pod: PodInfo, candidates: BoolColumn
) -> dict[str, dict[Status, RowIndex]]:
    """Return the rejections of the candidate rows by every filter, including rows that an earlier
    filter rejects. Filters that skip the pod are left out."""
    found: dict[str, dict[Status, RowIndex]] = {}
    parts = {step.name: part for step, part in entry.filters}
    for step in plan.filters:
        if step.name in state.skip_filter or not (step.is_live or step.name in parts):
            continue
        groups: Groups = {}
        remaining = candidates.copy()
        if step.is_live:
            _ask_live(step, table, state, pod, remaining, groups)
        else:
            _read_part(step, parts[step.name], remaining, groups)
        found[step.name] = {status: np.concatenate(pieces) for status, pieces in groups.items()}
    return found


def objections_of_kernels(
    plan: Plan, entry: SignatureEntry, state: CycleState, candidates: BoolColumn
) -> dict[str, dict[Status, RowIndex]]:
    """Return the rejections of the candidate rows by every filter with a kernel, including rows
    that an earlier filter rejects. Filters that skip the pod have none."""
    parts = {step.name: part for step, part in entry.filters}
    found: dict[str, dict[Status, RowIndex]] = {}
    for step in plan.filters:
        if not step.is_live:
            groups: Groups = {}
            if step.name not in state.skip_filter and step.name in parts:
                _read_part(step, parts[step.name], candidates.copy(), groups)
            found[step.name] = {status: np.concatenate(pieces) for status, pieces in groups.items()}
    return found


def _take(found: Mapping[Status, RowIndex], remaining: BoolColumn, groups: Groups) -> None:
    for status, rows in found.items():
        groups.setdefault(status, []).append(rows)
        remaining[rows] = False


def _read_part(step: FilterStep, part: FilterPart, remaining: BoolColumn, groups: Groups) -> None:
    reasons = _reasons(part)
    if reasons is None:
        return
    failing = reasons != 0
    failing &= remaining
    rows = failing.nonzero()[0]
    if not len(rows):
        return
    ids = reasons[rows]
    for reason in _distinct(ids):
        groups.setdefault(step.statuses[reason].with_plugin(step.name), []).append(rows[ids == reason])
    remaining[rows] = False


def _distinct(ids: AnyIntColumn) -> list[int]:
    """Return the distinct ids in ascending order. For small ids counting is faster than sorting."""
    are_small = ids.max(initial=0) < _SMALL_IDS
    distinct: list[int] = (np.bincount(ids).nonzero()[0] if are_small else np.unique(ids)).tolist()
    return distinct


def _reasons(part: FilterPart) -> AnyIntColumn | None:
    if part is None:
        return None
    if isinstance(part, ClusterFilterKernel):
        return part.reasons()
    part.sync()
    return part.values


def _ask_live(
    step: FilterStep, table: NodeTable, state: CycleState, pod: PodInfo, remaining: BoolColumn, groups: Groups
) -> None:
    found: dict[int, Status] = {}
    for row in remaining.nonzero()[0].tolist():
        status = step.call.run(state, pod, table.info(row))
        if status is not None:
            scalar.require_rejection(step.name, status)
            found[row] = status
    _take(rows_by_status(found), remaining, groups)


def score_table(
    plan: Plan, entry: SignatureEntry, table: NodeTable, state: CycleState, pod: PodInfo, feasible: Feasible
) -> ScoreTable:
    rows = feasible.rows
    infos = [table.info(row) for row in rows.tolist()]
    parts = {step.name: part for step, part in entry.scores}
    live = plan.live_pre_scores - parts.keys()
    skipped = set(scalar.pre_score_of([c for c in plan.profile.pre_score if c.name in live], state, pod, infos))
    plugins: list[PluginScores] = []
    for step in plan.scores:
        if step.name not in parts:
            if step.name not in skipped:
                plugins.append(scalar.scores_of(step.call, state, pod, infos))
            continue
        scores = _scores(step.name, step.weight, parts[step.name], feasible)
        if scores is None:
            skipped.add(step.name)
        else:
            plugins.append(scores)
    total = np.zeros(len(rows), np.int64)
    for scores in plugins:
        total += scores.weight * np.asarray(scores.normalised, np.int64)
    return ScoreTable([info.name for info in infos], plugins, frozenset(skipped), total.tolist())


def has_nothing_to_score(part: ScorePart, feasible: Feasible) -> bool:
    """Return whether the plugin's PreScore would return Skip."""
    return part is None or (isinstance(part, ClusterScoreKernel) and part.skipped(feasible))


def _scores(name: str, weight: int, part: ScorePart, feasible: Feasible) -> PluginScores | None:
    rows = feasible.rows
    if part is None or has_nothing_to_score(part, feasible):
        return None
    if isinstance(part, ClusterScoreKernel):
        scaled = part.normalized(feasible)
        normalised = [0] * len(rows) if scaled is None else scaled[rows].tolist()
        return PluginScores(name, weight, part.raw(feasible)[rows].tolist(), normalised)
    part.sync()
    raw = part.values[rows]
    scaled = normalise(raw, int(raw.max(initial=0)), part.kernel.normalize)
    return PluginScores(name, weight, raw.tolist(), scaled.tolist())
