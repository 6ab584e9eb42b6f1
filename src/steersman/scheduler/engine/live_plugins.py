# SPDX-License-Identifier: Apache-2.0
"""Plugins that are called in every cycle, because neither the signature nor a kernel has their
result.

PreFilter calls such plugins once per pod; its reference is `scalar.pre_filter`, which calls every
plugin. Filters without kernel and promise are called for every row that no other filter rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steersman.framework import (
    SKIP,
    BoolColumn,
    CachesVerdicts,
    ClusterFilterKernel,
    CycleState,
    NodeInfo,
    PodInfo,
    Status,
    is_skip,
)
from steersman.scheduler.engine.evaluation import Answer, PreFilterOutcome, merge
from steersman.scheduler.engine.evaluation_plan import FilterStep
from steersman.scheduler.engine.phase_clock import PhaseClock
from steersman.scheduler.engine.scalar import require_rejection
from steersman.scheduler.engine.signatures import FilterPart, SignatureEntry
from steersman.scheduler.runtime.applicable_calls import concerns
from steersman.scheduler.runtime.profile import PreFilterCall, Profile
from steersman.scheduler.state.node_table import NodeTable


def pre_filter(
    profile: Profile,
    entry: SignatureEntry,
    state: CycleState,
    pod: PodInfo,
    nodes: Sequence[NodeInfo],
    clock: PhaseClock | None = None,
) -> PreFilterOutcome:
    """Return the result of the phase; only plugins without a cached result or kernel are called."""
    answer: Callable[[PreFilterCall], Answer] = lambda call: _answer(call, entry, state, pod, nodes)  # noqa: E731
    if clock is not None:
        answer = clock.timed_pre_filter(answer, entry.pre_filter_answers)
    outcome = merge((call.name, partial(answer, call)) for call in profile.pre_filter)
    if clock is not None:
        clock.end_pre_filter()
    state.skip_filter = outcome.skipped
    return outcome


def is_live(call: PreFilterCall, entry: SignatureEntry) -> bool:
    """Return whether the plugin is called in every cycle of pods with the signature."""
    has_kernel = call.name not in entry.pinning and any(step.name == call.name for step, _ in entry.filters)
    return call.name not in entry.pre_filter_answers and not has_kernel


def _answer(
    call: PreFilterCall, entry: SignatureEntry, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> Answer:
    fixed = entry.pre_filter_answers.get(call.name)
    if fixed is not None:
        return fixed
    if call.name not in entry.pinning:
        for step, part in entry.filters:
            if step.name == call.name:
                return None, _status_of_kernel(call.name, part)
    return call.run(state, pod, nodes)


def _status_of_kernel(name: str, part: FilterPart) -> Status | None:
    """Return the status of PreFilter according to the plugin's kernel."""
    if part is None:
        return SKIP
    if not isinstance(part, ClusterFilterKernel):
        return None
    if part.skipped():
        return SKIP
    refusal = part.refusal()
    return None if refusal is None else refusal.with_plugin(name)


def state_of_skipping_plugins(
    profile: Profile, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> Iterator[tuple[str, object]]:
    """Yield the cycle state entries of plugins that do not apply to the pod and return Skip."""
    for call in profile.pre_filter:
        if not concerns(call.plugin, pod):
            state = CycleState()
            _, status = call.run(state, pod, nodes)
            if is_skip(status):
                yield from state.entries.items()


def live_rejections(
    live: Sequence[FilterStep], state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.intp]
) -> BoolColumn:
    """Return the given rows that one of the filters rejects. Raises CycleAborted for an internal
    error of a filter."""
    rejected = np.zeros(table.capacity, np.bool_)
    for row in _rows_to_evaluate(live, state, pod, table, rows, rejected).tolist():
        node = table.info(row)
        for step in live:
            status = step.call.run(state, pod, node)
            if status is not None:
                require_rejection(step.name, status)
                rejected[row] = True
                break
    return rejected


def _rows_to_evaluate(
    live: Sequence[FilterStep],
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    rows: NDArray[np.intp],
    rejected: BoolColumn,
) -> NDArray[np.intp]:
    """Return the rows to evaluate. A single plugin with cached verdicts writes these to
    `rejected`."""
    plugin = live[0].call.plugin
    if len(live) > 1 or not isinstance(plugin, CachesVerdicts):
        return rows
    known, unknown = plugin.cached_verdicts(state, pod, rows, table)
    rejected[known] = True
    return unknown
