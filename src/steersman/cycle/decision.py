# SPDX-License-Identifier: Apache-2.0
"""Decisions of a scheduling cycle, as values. The driver carries them out."""

from __future__ import annotations

import msgspec

from steersman.cycle.diagnosis import Diagnosis
from steersman.cycle.post_filter import PostFilterOutcome
from steersman.engine.evaluation import Choice
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.ports import Nomination
from steersman.framework.postponement import SlicedWork
from steersman.framework.status import Status


class Scheduled(msgspec.Struct, frozen=True):
    """A node was found; the pod is assumed there, reserved and permitted (or waits for its permission)."""

    pod: PodInfo
    profile: str
    choice: Choice
    feasible_nodes: int
    state: CycleState
    #: Plugins that the pod waits for before it may be bound, with the seconds each of them allows.
    waits: dict[str, float] = {}

    @property
    def node(self) -> str:
        return self.choice.node

    def __reduce__(self) -> tuple[type[Scheduled], tuple[object, ...]]:
        """Travels without the state, which is whatever plugins have written."""
        return Scheduled, (self.pod, self.profile, self.choice, self.feasible_nodes, CycleState(), self.waits)


class Unschedulable(msgspec.Struct, frozen=True):
    """No node fits, or a later phase rejected the chosen one."""

    pod: PodInfo
    profile: str
    diagnosis: Diagnosis
    message: str
    #: None: the nomination stays as it is.
    nomination: Nomination | None
    #: None: no PostFilter plugin was asked.
    post_filter: PostFilterOutcome | None = None


class Failed(msgspec.Struct, frozen=True):
    """Something is broken; the pod is tried again after the error backoff."""

    pod: PodInfo
    profile: str
    status: Status
    #: False: the pod goes back without a word, because the attempt was broken off, or nobody knows how it ended.
    is_reported: bool = True

    @property
    def message(self) -> str:
        return self.status.message


class Dropped(msgspec.Struct, frozen=True):
    """Nothing to schedule: the pod is being deleted, is assumed already, or names no profile of this scheduler."""

    pod: PodInfo
    reason: str


class Postponed(msgspec.Struct, frozen=True):
    """No decision yet: the cycle needs work that takes too long for it. Nothing is assumed, and the pod stays in flight."""

    pod: PodInfo
    profile: str
    work: SlicedWork

    @property
    def message(self) -> str:
        return "the scheduling cycle was postponed until a long search has ended"


Decision = Scheduled | Unschedulable | Failed | Dropped | Postponed
