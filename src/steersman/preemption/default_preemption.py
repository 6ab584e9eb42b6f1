# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: when no node fits, find one where pods of lower priority can make room, and make it.

PostFilter decides (`evaluator`) and sets the eviction in motion (`executor`); PreEnqueue holds the preemptor back while
that is under way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from steersman import api
from steersman.config import DefaultPreemptionArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from steersman.framework.extender import Extender
from steersman.framework.handle import PostFilterHandle
from steersman.framework.plugin import (
    EnqueueExtensions,
    NodeStatusReader,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, unresolvable, unschedulable
from steersman.preemption.candidates import PreemptionReport
from steersman.preemption.dry_run import SampledSearch
from steersman.preemption.evaluator import Evaluator
from steersman.preemption.executor import Executor

ASYNC_GATE = "SchedulerAsyncPreemption"
REASON_UNDER_WAY = "waiting for the preemption for this pod to be finished"
MESSAGE = "preemption: {}"

ResultAndStatus: TypeAlias = tuple[PostFilterResult | None, Status]


class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Makes room for a pod at the cost of less important ones."""

    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: PostFilterHandle) -> None:
        self.evaluator = Evaluator(handle, SampledSearch(args, handle.rng))
        self.executor = Executor(handle, self.name)
        #: Whether a preemptor waits until its victims have been told to go (gate SchedulerAsyncPreemption).
        self.is_asynchronous = handle.gates.enabled(ASYNC_GATE)

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader) -> ResultAndStatus:
        return self._carry_out(pod, self.evaluator.decide(state, pod, statuses))

    async def post_filter_with_extenders(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader, extenders: Sequence[Extender]
    ) -> ResultAndStatus:
        """`post_filter` where extenders that are interested in the pod have a say."""
        return self._carry_out(pod, await self.evaluator.decide_with_extenders(state, pod, statuses, extenders))

    def _carry_out(self, pod: PodInfo, decided: PreemptionReport | Status) -> ResultAndStatus:
        if isinstance(decided, Status):
            return None, Status(decided.code, (MESSAGE.format(decided.message),))
        if decided.choice is None:
            return PostFilterResult("", decided), unschedulable(MESSAGE.format(decided.failure()))
        candidate = decided.choice.candidate
        self.executor.start(pod, candidate)
        return PostFilterResult(candidate.node, decided), Status(Code.SUCCESS)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if self.is_asynchronous and self.executor.holds_back(pod.uid):
            return unresolvable(REASON_UNDER_WAY)
        self.executor.let_pass(pod.uid)
        return None

    def released_by(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]:
        """`TellsReleasedPods`: of a thousand preemptors, the one whose last victim has just gone, and those that are done."""
        return self.executor.released_by(api.key(old) if isinstance(old, api.Pod) else "")

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        if not self.is_asynchronous:
            return ()
        return (ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), self.after_pod_deleted),)

    def after_pod_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """SKIP, always: the plugins that rejected the pod know whether the deletion helps it. The event is registered all
        the same: it lets a pod that is held back be looked at again."""
        return QueueingHint.SKIP
