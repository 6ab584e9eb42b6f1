# SPDX-License-Identifier: Apache-2.0
"""What-if evaluation of single nodes with a profile's plugins in the scalar engine. Implements
`framework.handle.WhatIf`.

Preemption uses it for every node on which removing pods might help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from steersman.framework import CycleState, NodeInfo, PodInfo, Status
from steersman.scheduler.engine import scalar
from steersman.scheduler.engine.columnar import ColumnarEngine
from steersman.scheduler.engine.local_filters import RowFilters
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.state.node_table import NodeTable
from steersman.scheduler.state.nominations import Nominations
from steersman.scheduler.state.row_info import LiveNodes


class ProfileWhatIf:
    """What-if evaluator of one profile."""

    def __init__(self, profile: Profile, engine: ColumnarEngine, nominations: Callable[[], Nominations]) -> None:
        self._profile = profile
        self._engine = engine
        self.nominations = nominations

    @property
    def table(self) -> NodeTable:
        return self._engine.table

    def has_evaluated(self, pod: PodInfo) -> bool:
        """Return whether the latest evaluation of the columnar engine is that of the pod."""
        latest = self._engine.latest
        return latest is not None and latest.pod is pod

    def row_filters(self, pod: PodInfo) -> RowFilters | None:
        """Return the filters of the pod's latest evaluation as limits on the pods of a row, or None
        if they cannot be expressed so or the scalar engine made the evaluation."""
        latest = self._engine.latest
        if latest is None or latest.pod is not pod:
            return None
        return latest.row_filters(lambda: self._nominated_ahead_of(pod))

    def of_plugin(self, name: str) -> ProfileWhatIf:
        """Return an evaluator with the filters of one plugin."""
        calls = {
            point: tuple(c for c in getattr(self._profile, point) if c.name == name)
            for point in ("pre_filter", "filter")
        }
        return ProfileWhatIf(msgspec.structs.replace(self._profile, **calls), self._engine, self.nominations)

    def pre_filter(self, pod: PodInfo) -> CycleState:
        """Return the cycle state written by PreFilter. Raises CycleAborted for an internal error of
        a plugin."""
        state = CycleState()
        scalar.pre_filter(self._profile, state, pod, LiveNodes(self.table))
        return state

    def _nominated_ahead_of(self, pod: PodInfo) -> Iterable[PodInfo]:
        """Yield the pods nominated to any node that count for this pod."""
        return (other for _, pods in self.nominations().ahead_of(pod).items() for other in pods)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return scalar.filter_with_nominated(self._profile, state, pod, node, self.nominations().on(node.name))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        scalar.add_to_state(self._profile, state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        scalar.remove_from_state(self._profile, state, pod, removed, node)
