"""What-if questions about single nodes, put to a profile's plugins by the plain engine. Implements `framework.handle.WhatIf`.

Preemption asks them for every node on which making room might help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from steersman.cycle import scalar
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.runtime.profile import Profile

#: Pods nominated to the node of that name.
NominatedTo = Callable[[str], Sequence[PodInfo]]


class ProfileWhatIf:
    """One per profile."""

    def __init__(self, profile: Profile, nominated_to: NominatedTo) -> None:
        self._profile = profile
        self._nominated_to = nominated_to

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return scalar.filter_with_nominated(self._profile, state, pod, node, self._nominated_to(node.name))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> None:
        scalar.add_to_state(self._profile, state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> None:
        scalar.remove_from_state(self._profile, state, pod, removed, node)
