# SPDX-License-Identifier: Apache-2.0
"""DefaultPreemption: if no node fits a pod, evict pods of lower priority from one; if a group
cannot be placed, evict pods of lower priority from any.

PostFilter (`evaluator`) and PodGroupPostFilter (`group_evaluator`) decide and start the evictions
(`executor`); PreEnqueue gates the preemptor while they are in progress.
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
    GroupKey,
    GroupKind,
    NodeStatusReader,
    PodGroupInfo,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
    PodInfo,
    PostFilterHandle,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    QueueingHint,
    ScheduleGroup,
    Status,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.preemption.candidates import Candidate, PreemptionReport
from steersman.scheduler.preemption.dry_run import SampledSearch
from steersman.scheduler.preemption.evaluator import Evaluator
from steersman.scheduler.preemption.executor import Executor, Preemptor
from steersman.scheduler.preemption.group_evaluator import GroupEvaluator
from steersman.scheduler.preemption.victims import COMPOSITE_GATE
from steersman.scheduler.runtime.profile import Profile

ASYNC_GATE = "SchedulerAsyncPreemption"
REASON_UNDER_WAY = "waiting for the preemption for this pod to be finished"
MESSAGE = "preemption: {}"
MESSAGE_FOUND = "found a potential placement for pod on node {}, preempting {} victims"
REASON_GROUP_UNDER_WAY = "waiting for the preemption for this pod group to be finished"
GROUP_MESSAGE = "pod group preemption: {}"
GROUP_FOUND = "found a placement for podgroup, preempting {} victims"
GROUP_ONGOING = "ongoing preemption on nominated nodes"
#: Stands for the node of the victims of a group in events.
CLUSTER = "cluster"

ResultAndStatus: TypeAlias = tuple[PostFilterResult | None, Status]


GroupResultAndStatus: TypeAlias = tuple[PodGroupPostFilterResult | None, Status]


class DefaultPreemption(PostFilterPlugin, PodGroupPostFilterPlugin, PreEnqueuePlugin, EnqueueExtensions):
    """Evicts less important pods to make a node feasible."""

    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: PostFilterHandle) -> None:
        self.evaluator = Evaluator(handle, SampledSearch(args, handle.rng))
        self.group_evaluator = GroupEvaluator(handle, self.evaluator.budgets)
        self.executor = Executor(handle, self.name)
        self._handle = handle
        self._has_hierarchies = handle.gates.enabled(COMPOSITE_GATE)
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
        self.executor.start(Preemptor.of_pod(pod), candidate.node, candidate.victims)
        return PostFilterResult(candidate.node, decided), self._success(candidate)

    def _success(self, candidate: Candidate) -> Status:
        if not self._reports_success:
            return Status(Code.SUCCESS)
        found = MESSAGE_FOUND.format(candidate.node, len(candidate.victims))
        return Status(Code.SUCCESS, (MESSAGE.format(found),))

    def pod_group_post_filter(
        self, state: CycleState, group: PodGroupInfo, schedule: ScheduleGroup
    ) -> GroupResultAndStatus:
        decided = self.group_evaluator.decide(group, schedule)
        if isinstance(decided, Status):
            reasons = (GROUP_MESSAGE.format(decided.message),) if decided.message else ()
            return None, Status(decided.code, reasons)
        victims = decided.victims
        if victims:
            self.executor.start(Preemptor.of_group(group), CLUSTER, victims)
        found = GROUP_ONGOING if decided.is_ongoing else GROUP_FOUND.format(len(victims))
        result = PodGroupPostFilterResult(decided.nominated, decided)
        return result, Status(Code.SUCCESS, (GROUP_MESSAGE.format(found),))

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if self.is_asynchronous and self.executor.has_preemptions:
            if self._handle.pod_groups is not None and pod.spec.scheduling_group is not None:
                if self.executor.is_gated(self._root_uid(pod)):
                    return unresolvable(REASON_GROUP_UNDER_WAY)
            elif self.executor.is_gated(pod.uid):
                return unresolvable(REASON_UNDER_WAY)
        self.executor.on_ungated(pod.uid)
        return None

    def _root_uid(self, pod: PodInfo) -> str:
        """Return the uid of the root of the pod's groups; "" if a group is missing."""
        group = pod.spec.scheduling_group
        name = "" if group is None else group.pod_group_name or ""
        key: GroupKey | None = GroupKey(GroupKind.POD_GROUP, pod.namespace, name)
        groups = self._handle.pod_groups
        if groups is None:
            return ""
        if key is not None and self._has_hierarchies:
            key = groups.root(key)
        found = None if key is None else groups.group(key)
        return "" if found is None else found.metadata.uid

    def ungated_pods(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]:
        """Return the preemptors to ungate (`UngatesPods`): those whose last victim is this
        pod, and those whose preemption has ended."""
        return self.executor.ungated_pods(api.key(old) if isinstance(old, api.Pod) else "")

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
