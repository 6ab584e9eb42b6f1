# SPDX-License-Identifier: Apache-2.0
"""Results of a scheduling cycle as values. The driver carries them out."""

from __future__ import annotations

import msgspec

from steersman.framework import CycleState, Nomination, PodInfo, SlicedWork, Status
from steersman.scheduler.cycle.diagnosis import Diagnosis
from steersman.scheduler.cycle.post_filter import PostFilterOutcome
from steersman.scheduler.engine.evaluation import Choice


class Scheduled(msgspec.Struct, frozen=True):
    """A node was found: the pod is assumed there, reserved, and permitted or waiting for
    permission."""

    pod: PodInfo
    profile: str
    choice: Choice
    feasible_nodes: int
    state: CycleState
    #: Timeouts in seconds of the plugins that must allow the pod before it is bound.
    waits: dict[str, float] = {}

    @property
    def node(self) -> str:
        return self.choice.node

    def __reduce__(self) -> tuple[type[Scheduled], tuple[object, ...]]:
        """Pickle without the cycle state, which contains arbitrary values of plugins."""
        return Scheduled, (self.pod, self.profile, self.choice, self.feasible_nodes, CycleState(), self.waits)


class Unschedulable(msgspec.Struct, frozen=True):
    """No node is feasible, or a later phase rejected the chosen one."""

    pod: PodInfo
    profile: str
    diagnosis: Diagnosis
    message: str
    #: Change of the pod's nomination, or None to keep it.
    nomination: Nomination | None
    #: Result of PostFilter, or None if no PostFilter plugin ran.
    post_filter: PostFilterOutcome | None = None


class Failed(msgspec.Struct, frozen=True):
    """An internal error ended the attempt; the pod is retried after the error backoff."""

    pod: PodInfo
    profile: str
    status: Status
    #: Whether the failure is reported to users. False if the attempt was aborted or its outcome is
    #: unknown.
    is_reported: bool = True

    @property
    def message(self) -> str:
        return self.status.message


class Dropped(msgspec.Struct, frozen=True):
    """Nothing to schedule: the pod is being deleted, is already assumed, or names an unknown
    profile."""

    pod: PodInfo
    reason: str


class Postponed(msgspec.Struct, frozen=True):
    """No decision yet: the cycle needs work that takes too long for it. Nothing is assumed, and the
    pod stays in flight."""

    pod: PodInfo
    profile: str
    work: SlicedWork

    @property
    def message(self) -> str:
        return "the scheduling cycle was postponed until a long search has ended"


Decision = Scheduled | Unschedulable | Failed | Dropped | Postponed
