# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: if no node fits, evict pods of lower priority from one.

PostFilter decides (`evaluator`) and starts the evictions (`executor`); PreEnqueue gates the
preemptor while they are in progress.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from steersman import api
from steersman.config import DefaultPreemptionArgs, Rule
from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EnqueueExtensions,
    EventResource,
    Extender,
    NodeStatusReader,
    PodInfo,
    PostFilterHandle,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    QueueingHint,
    Status,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.preemption.candidates import Candidate, PreemptionReport
from steersman.scheduler.preemption.dry_run import SampledSearch
from steersman.scheduler.preemption.evaluator import Evaluator
from steersman.scheduler.preemption.executor import Executor
from steersman.scheduler.runtime.profile import Profile

ASYNC_GATE = "SchedulerAsyncPreemption"
REASON_UNDER_WAY = "waiting for the preemption for this pod to be finished"
MESSAGE = "preemption: {}"
MESSAGE_FOUND = "found a potential placement for pod on node {}, preempting {} victims"

ResultAndStatus: TypeAlias = tuple[PostFilterResult | None, Status]


class DefaultPreemption(PostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Evicts less important pods to make a node feasible."""

    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: PostFilterHandle) -> None:
        self.evaluator = Evaluator(handle, SampledSearch(args, handle.rng))
        self.executor = Executor(handle, self.name)
        #: Whether a preemptor waits until its victims have been deleted in the background (gate
        #: SchedulerAsyncPreemption).
        self.is_asynchronous = handle.gates.enabled(ASYNC_GATE)
        self._reports_success = handle.gates.has_rule(Rule.PREEMPTION_IS_REPORTED)

    def post_filter(self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader) -> ResultAndStatus:
        return self._carry_out(pod, self.evaluator.decide(state, pod, statuses))

    async def post_filter_with_extenders(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader, extenders: Sequence[Extender]
    ) -> ResultAndStatus:
        """Run `post_filter` with the extenders interested in the pod."""
        return self._carry_out(pod, await self.evaluator.decide_with_extenders(state, pod, statuses, extenders))

    def _carry_out(self, pod: PodInfo, decided: PreemptionReport | Status) -> ResultAndStatus:
        if isinstance(decided, Status):
            return None, Status(decided.code, (MESSAGE.format(decided.message),))
        if decided.choice is None:
            return PostFilterResult("", decided), unschedulable(MESSAGE.format(decided.failure()))
        candidate = decided.choice.candidate
        self.executor.start(pod, candidate)
        return PostFilterResult(candidate.node, decided), self._success(candidate)

    def _success(self, candidate: Candidate) -> Status:
        if not self._reports_success:
            return Status(Code.SUCCESS)
        found = MESSAGE_FOUND.format(candidate.node, len(candidate.victims))
        return Status(Code.SUCCESS, (MESSAGE.format(found),))

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if self.is_asynchronous and self.executor.is_gated(pod.uid):
            return unresolvable(REASON_UNDER_WAY)
        self.executor.on_ungated(pod.uid)
        return None

    def released_by(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]:
        """Return the preemptors to ungate (`TellsReleasedPods`): those whose last victim is this
        pod, and those whose preemption has ended."""
        return self.executor.released_by(api.key(old) if isinstance(old, api.Pod) else "")

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        if not self.is_asynchronous:
            return ()
        return (ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE), self.after_pod_deleted),)

    def after_pod_deleted(self, waiting: api.Pod, old: object, new: object) -> QueueingHint:
        """Always return SKIP: the plugins that rejected the pod know whether the deletion helps.
        The event is registered because it may ungate the pod."""
        return QueueingHint.SKIP


def default_preemptions(profiles: Iterable[Profile]) -> Iterator[DefaultPreemption]:
    """Yield the DefaultPreemption plugin of every profile that has it."""
    for profile in profiles:
        plugin = profile.plugins.get(DefaultPreemption.name)
        if isinstance(plugin, DefaultPreemption):
            yield plugin
