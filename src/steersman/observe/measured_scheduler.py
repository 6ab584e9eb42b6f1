# SPDX-License-Identifier: Apache-2.0
"""The scheduler with metrics. Which of the two is built is decided once; `assembly.Scheduler` itself measures nothing.

pop ─► cycle ─► decision ─► binding ─► bound, or failed          the scheduler
 └──────┴──────────┴──────────────────────┴──────────────► Measuring ─► Metrics
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from steersman.assembly import ApiWriter, Scheduler, SchedulerOptions
from steersman.assembly.scheduler import Spawn
from steersman.clock import Clock
from steersman.cycle.decision import Decision, Failed, Unschedulable
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.observe.measuring import Measuring
from steersman.observe.metrics import Metrics
from steersman.observe.plugin_timing import timed
from steersman.observe.queue_counts import MeasuredQueueMetrics
from steersman.preemption import DefaultPreemption
from steersman.queue import QueuedPodInfo, QueueMetrics
from steersman.rng import Rng
from steersman.runtime.profile import Profile, StatusCall

#: The last step of PostBind. No configuration can name it.
LAST_STEP: Final = "steersman/measuring"


class OnBound(Protocol):
    def __call__(self, pod: PodInfo, node: str, evaluated_nodes: int, feasible_nodes: int, /) -> None:
        """The API server has the binding."""


class MeasuredScheduler(Scheduler):
    """As `Scheduler`. Whoever wants to see evaluations too calls `measuring.evaluated` from an observer of their own."""

    def __init__(
        self,
        metrics: Metrics,
        clock: Clock,
        rng: Rng,
        writer: ApiWriter,
        spawn: Spawn,
        options: SchedulerOptions | None = None,
    ) -> None:
        self.measuring = Measuring(metrics)
        self._counts = MeasuredQueueMetrics(metrics)
        #: Told of every binding.
        self.on_bound: OnBound | None = None
        super().__init__(clock, rng, writer, spawn, options)
        self.observer = self.measuring.evaluated

    def schedule_one(self) -> Decision | None:
        self.measuring.cycle_begins()
        return super().schedule_one()

    async def schedule_one_async(self) -> Decision | None:
        self.measuring.cycle_begins()
        return await super().schedule_one_async()

    def _carry_out(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.measuring.decided(queued, decision)
        super()._carry_out(queued, decision)

    def _attempt_failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        self.measuring.failed(queued, decision)
        super()._attempt_failed(queued, decision)

    def _queue_metrics(self) -> QueueMetrics | None:
        return self._counts

    def _build_profiles(self) -> dict[str, Profile]:
        return {name: self._measured(profile) for name, profile in super()._build_profiles().items()}

    def _measured(self, profile: Profile) -> Profile:
        """PostBind runs when a binding has succeeded, and only then."""
        preemption = profile.plugins.get(DefaultPreemption.name)
        if isinstance(preemption, DefaultPreemption):
            preemption.executor.on_end = self.measuring.preempted
        calls = timed(profile, self.measuring)
        return replace(calls, post_bind=(*calls.post_bind, StatusCall(LAST_STEP, self, self._bound)))

    def _bound(self, state: CycleState, pod: PodInfo, node: str) -> None:
        feasible = self.measuring.bound(pod, self.clock.monotonic())
        if self.on_bound is not None:
            # Columns are of all nodes: each of them was looked at.
            self.on_bound(pod, node, self.cache.nodes.node_count, feasible)
