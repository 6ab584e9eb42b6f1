# SPDX-License-Identifier: Apache-2.0
"""Plugins that are asked in every cycle, because neither the signature nor a kernel answers for them.

PreFilter asks such plugins once for a pod; its plain twin is `scalar.pre_filter`, which asks every plugin. Filters without a
vector form and without a promise are asked about every row that nothing else rejects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from steersman.engine.evaluation import Answer, PreFilterOutcome, merge
from steersman.engine.plan import FilterStep
from steersman.engine.scalar import require_rejection
from steersman.engine.signatures import FilterPart, SignatureEntry
from steersman.framework.columns import ClusterFilterKernel, RemembersRows
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import BoolColumn
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import SKIP, Status, is_skip
from steersman.runtime.applicable_calls import concerns
from steersman.runtime.profile import PreFilterCall, Profile
from steersman.state.node_table import NodeTable


def pre_filter(
    profile: Profile, entry: SignatureEntry, state: CycleState, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> PreFilterOutcome:
    """The outcome of the phase; only plugins that neither the signature nor a kernel answers for are asked."""
    outcome = merge(
        (call.name, lambda call=call: _answer(call, entry, state, pod, nodes))  # type: ignore[misc]
        for call in profile.pre_filter
    )
    state.skip_filter = outcome.skipped
    return outcome


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
    """The status that PreFilter would give, according to the plugin's kernel."""
    if part is None:
        return SKIP
    if not isinstance(part, ClusterFilterKernel):
        return None
    if part.skipped():
        return SKIP
    refusal = part.refusal()
    return None if refusal is None else refusal.of(name)


def state_of_skipping_plugins(
    profile: Profile, pod: PodInfo, nodes: Sequence[NodeInfo]
) -> Iterator[tuple[str, object]]:
    """The entries that plugins leave in the cycle state which the pod does not concern, if they say Skip as they should."""
    for call in profile.pre_filter:
        if not concerns(call.plugin, pod):
            state = CycleState()
            _, status = call.run(state, pod, nodes)
            if is_skip(status):
                yield from state.entries.items()


def live_rejections(
    live: Sequence[FilterStep], state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.intp]
) -> BoolColumn:
    """The rows among those given that one of the filters rejects. CycleAborted when a filter is broken."""
    rejected = np.zeros(table.capacity, np.bool_)
    for row in _rows_to_ask_about(live, state, pod, table, rows, rejected).tolist():
        node = table.info(row)
        for step in live:
            status = step.call.run(state, pod, node)
            if status is not None:
                require_rejection(step.name, status)
                rejected[row] = True
                break
    return rejected


def _rows_to_ask_about(
    live: Sequence[FilterStep],
    state: CycleState,
    pod: PodInfo,
    table: NodeTable,
    rows: NDArray[np.intp],
    rejected: BoolColumn,
) -> NDArray[np.intp]:
    """The rows that have to be asked about; where one plugin is alone and remembers the others, these are noted."""
    plugin = live[0].call.plugin
    if len(live) > 1 or not isinstance(plugin, RemembersRows):
        return rows
    known, unknown = plugin.known_rows(state, pod, rows, table)
    rejected[known] = True
    return unknown
