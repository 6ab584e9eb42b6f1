# SPDX-License-Identifier: Apache-2.0
"""What-if questions about single nodes, put to a profile's plugins by the plain engine. Implements `framework.handle.WhatIf`.

Preemption asks them for every node on which making room might help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steersman.engine import scalar
from steersman.engine.columnar import ColumnarEngine
from steersman.engine.local_filters import RowFilters
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.runtime.profile import Profile
from steersman.state.nominations import Nominations


class ProfileWhatIf:
    """One per profile."""

    def __init__(self, profile: Profile, engine: ColumnarEngine, nominations: Callable[[], Nominations]) -> None:
        self._profile = profile
        self._engine = engine
        self.nominations = nominations

    def row_filters(self, pod: PodInfo) -> RowFilters | None:
        """For the pod whose evaluation has just failed: what decides, if it says how it follows from the pods of a node. None
        also when that evaluation was the plain engine's."""
        latest = self._engine.latest
        if latest is None or latest.pod is not pod:
            return None
        return latest.row_filters(lambda: self._nominated_ahead_of(pod))

    def _nominated_ahead_of(self, pod: PodInfo) -> Iterable[PodInfo]:
        """The pods that are nominated to any node and count there."""
        return (other for _, pods in self.nominations().ahead_of(pod).items() for other in pods)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return scalar.filter_with_nominated(self._profile, state, pod, node, self.nominations().on(node.name))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        scalar.add_to_state(self._profile, state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        scalar.remove_from_state(self._profile, state, pod, removed, node)
