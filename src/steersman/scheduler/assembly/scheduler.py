# SPDX-License-Identifier: Apache-2.0
"""The assembled scheduler: queue, cache, profiles and cycle, and what happens to a decision.

    ingest ─► queue ─pop─► cycle ─► Scheduled ─► binding
                 ▲           └────► Unschedulable, Failed ─► requeue, condition, event
                 └──────────────────────────────────┘

Synchronous: a step that must wait (permission, PreBind, a slow API server) is passed to the host as
a coroutine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.base import INTERNAL_ERROR, Clock, Rng, describe
from steersman.base.graph_copy import copied_attributes, shallow
from steersman.config import Rule
from steersman.framework import (
    ASSIGNED_POD_ADD,
    CLEARED,
    REASON_ERROR,
    REASON_UNSCHEDULABLE,
    ApiReader,
    ApiWriter,
    Failure,
    NoReader,
    PodInfo,
    PodShapes,
    Spawn,
    error,
    with_custom,
)
from steersman.scheduler.assembly.construction import (
    SchedulerOptions,
    make_cycle,
    make_pod_groups,
    make_profiles,
    make_queue,
)
from steersman.scheduler.assembly.extender_cycle import ExtenderCycle
from steersman.scheduler.assembly.group_attempts import GroupAttempts, GroupParts
from steersman.scheduler.assembly.nominations import NominatedPods
from steersman.scheduler.assembly.observers import AttemptObserver, Observers
from steersman.scheduler.assembly.pending_pods import PendingInfos
from steersman.scheduler.assembly.pod_access import SchedulerPods
from steersman.scheduler.assembly.postponed import PostponedAttempts
from steersman.scheduler.binding import BindingCycle, BindingParts
from steersman.scheduler.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.scheduler.cycle.diagnosis import Diagnosis
from steersman.scheduler.cycle.group_decision import GroupCycle
from steersman.scheduler.cycle.schedule_one import Observer
from steersman.scheduler.engine.evaluation import Evaluation, NodeStatuses
from steersman.scheduler.engine.totals_digest import DigestedTotals
from steersman.scheduler.ingest import Ingest
from steersman.scheduler.ingest.pod_level_resources import seen_pods
from steersman.scheduler.queue import (
    PodAlreadyQueuedError,
    Queued,
    QueuedPodGroup,
    QueuedPodInfo,
)
from steersman.scheduler.runtime.background import Background
from steersman.scheduler.runtime.declared_kinds import kinds_by_gates
from steersman.scheduler.runtime.faults import CycleAborted
from steersman.scheduler.runtime.handle import ProfileHandle, TableNodes
from steersman.scheduler.runtime.pods_in_pre_bind import PodsInPreBind
from steersman.scheduler.runtime.profile import Profile
from steersman.scheduler.runtime.profiles import kinds_of_profiles, reads_of_profiles
from steersman.scheduler.runtime.waiting_pods import WaitingPods
from steersman.scheduler.state.cache import Cache
from steersman.scheduler.state.nominations import Nominations
from steersman.scheduler.state.objects import ObjectStore

logger = logging.getLogger(__name__)

#: Event for other pods when a pod is bound.
BOUND = ASSIGNED_POD_ADD
CYCLE = "scheduling cycle"
CANCELLED = "scheduling cycle cancelled"
NOMINATION_GATE = "NominatedNodeNameForExpectation"


def _refusal(decision: Decision) -> str:
    """Return why a pod is not even evaluated."""
    return decision.reason if isinstance(decision, Dropped) else getattr(decision, "message", "")


LEFT_PENDING: Final = "left pending by the caller"


class Preview(NamedTuple):
    """The next pod with its evaluation."""

    pod: PodInfo
    #: Valid until the state changes; None if nothing can be evaluated.
    evaluation: Evaluation | None
    #: Reason why there is no evaluation.
    message: str = ""


@copied_attributes(pods=shallow)
class Scheduler:
    """Queue, cache, profiles and cycle of one scheduler; a host drives it by `schedule_one` or
    `schedule_some`."""

    def __init__(
        self,
        clock: Clock,
        rng: Rng,
        writer: ApiWriter,
        spawn: Spawn,
        options: SchedulerOptions | None = None,
        reader: ApiReader | None = None,
    ) -> None:
        """`reader` is the API client of plugins; without one, their reads raise ApiReadError."""
        options = options or SchedulerOptions()
        self.options = options
        self._has_extenders = bool(options.extenders)
        self.clock = clock
        self._rng = rng
        self._writer = writer
        self._reader = reader or NoReader()
        self._spawn = spawn
        self.objects = ObjectStore()
        shapes = PodShapes(resize_by_totals=options.gates.has_rule(Rule.RESIZE_BY_TOTALS))
        self.cache = Cache(self.objects, shapes, make_pod_groups(options.gates))
        self.waiting_pods = WaitingPods()
        self.pods_in_pre_bind = PodsInPreBind()
        #: Every unfinished pod by namespace/name, from the informer.
        self.pods: dict[str, api.Pod] = {}
        self._infos = PendingInfos(self.cache.shapes, self.pods)
        #: Observers of all attempts.
        self._observers = Observers(options.internal_errors)
        self._pod_access = SchedulerPods(self.pods, self.waiting_pods, self.pods_in_pre_bind, writer)
        self.profiles = make_profiles(options, self._handle)
        #: Kinds whose changes the host must pass to `ingest`.
        self.watched_kinds = with_custom((*kinds_of_profiles(self.profiles.values()), *kinds_by_gates(options.gates)))
        #: Kinds that plugins read themselves, watched or not.
        self.read_kinds = reads_of_profiles(self.profiles.values())
        self.queue = make_queue(options, self.profiles, clock, self.pods, self._infos)
        self._pod_access.queue = self.queue
        self._nominated = NominatedPods(self.queue, self.cache.shapes, self.cache.nodes)
        self.ingest = Ingest(
            self.cache,
            self.objects,
            self.queue,
            self.profiles,
            self.pods,
            self.waiting_pods.reject,
            self._infos.get,
            self._infos.discard,
            seen_pods(options.gates),
        )
        self.cycle = make_cycle(options, self.cache, self.profiles, self._nominated, rng)
        self.binding = BindingCycle(self._binding_parts(), self._attempt_failed, spawn)
        self.extender_cycle = ExtenderCycle(self.cycle, self.cache, options.extenders)
        self._groups = GroupAttempts(self._group_parts(), self._attempt_failed, self._release)
        #: Run by a host that set `postpones`.
        self.postponed = PostponedAttempts(
            clock, self._needs_node, self.queue.done, self._attempt_failed, lambda: self.queue.on_ready()
        )
        #: Background refreshes of plugins; run by the host.
        self.background = Background(self.profiles.values(), self.queue.move_all)
        if options.instruments is not None:
            self.observe(options.instruments.observer)
            self.cycle.measure(options.instruments.phase_clock)

    def observe(self, observer: AttemptObserver) -> None:
        """Add an observer, called after earlier ones."""
        self._observers.add(observer)
        self.binding.on_bound = self._observers.bound

    # -- running ----------------------------------------------------------------------------------

    def schedule_one(self, placed: tuple[str, str] | None = None) -> Decision | None:
        """Schedule the next pod and carry out the decision as far as possible; return None if there
        is no pod.

        `placed` is the uid of the next pod and the feasible node to choose instead of the best one;
        "" leaves it pending.
        """
        decisions = self._schedule_next(placed)
        return decisions[-1] if decisions else None

    def _schedule_next(self, placed: tuple[str, str] | None = None) -> Sequence[Decision]:
        """Schedule the next pod like `schedule_one`, or the next group; return the decisions on its
        members."""
        if self._has_extenders:
            raise RuntimeError("extenders have to be waited for: schedule_one_async() does that")
        if placed is None and not self._observers.all and not self.postponed.ready and self._writer.binds_at_once:
            queued = self.queue.pop_active()
            if queued is not None:
                return (self._schedule_popped(queued),)
        self._observers.begins()
        entity = self._next_entity() if self.postponed.ready else self.queue.pop_nowait()
        while isinstance(entity, QueuedPodGroup):
            decisions = self._groups.schedule(entity)
            if decisions:
                return decisions
            entity = self.queue.pop_nowait()
        return () if entity is None else (self._schedule(entity, None, placed),)

    def _schedule_popped(self, queued: QueuedPodInfo) -> Decision:
        """Schedule a pod from `pop_active` without observers: a pod that its signature decides is
        bound without ever being in flight."""
        queue = self.queue
        try:
            pod = self._infos.take(queued.pod)
            decision = self.cycle.schedule_by_signature(pod, require_no_reserve=True)
        except CycleAborted:
            decision = None  # the full evaluation raises again and is reported
        except Exception as cause:
            queue.begin(queued)
            return self._broken(queued, cause)
        if not isinstance(decision, Scheduled):
            queue.begin(queued)
            return self._schedule(queued, pod)
        try:
            queue.begin_and_end(queued)  # schedule_by_signature requires that there are no nominations
            self.binding.bind_now(queued, decision, self.profiles[decision.profile])
        except Exception as cause:
            return self._broken(queued, cause)
        return decision

    def _schedule(self, queued: QueuedPodInfo, pod: PodInfo | None, placed: tuple[str, str] | None = None) -> Decision:
        """Schedule a pod in flight; `pod` is its info if it was already taken."""
        observers = self._observers
        try:
            node = placed[1] if placed is not None and placed[0] == queued.uid else None
            info = pod or self._infos.take(queued.pod)
            if node == "":
                decision: Decision = self._leave_pending(info)
            else:
                decision = self.cycle.schedule_one(info, observers.on_evaluated, node or "")
            self._carry_out(queued, decision)
        except Exception as cause:
            decision = self._broken(queued, cause)
        if observers.all:
            observers.carried_out(decision)
        return decision

    def _leave_pending(self, pod: PodInfo) -> Unschedulable:
        """Return a decision as if every Filter plugin had rejected the pod, so that any event that
        may help moves it."""
        profile = self.profiles[pod.scheduler_name]
        rejecting = frozenset(call.name for call in profile.filter)
        diagnosis = Diagnosis(self.cache.nodes.node_count, NodeStatuses(), rejecting, frozenset())
        return Unschedulable(pod, profile.name, diagnosis, LEFT_PENDING, None)

    def preview(self) -> Preview | None:
        """Evaluate the next pod against all nodes without deciding; return None if there is no
        pod."""
        queued = self.queue.peek()
        return None if queued is None else self.preview_pod(self._infos.get(queued.pod))

    def preview_pod(self, pod: PodInfo) -> Preview:
        """Evaluate the pod against all nodes, or return why it cannot be evaluated."""
        profile = self.cycle.admit(pod)
        if not isinstance(profile, Profile):
            return Preview(pod, None, _refusal(profile))
        try:
            return Preview(pod, self.cycle.preview(profile, pod))
        except CycleAborted as abort:
            return Preview(pod, None, abort.status.message)

    def schedule_some(self, limit: int) -> Sequence[Decision]:
        """Schedule at most `limit` of the next pods: replicas together, which is faster, others one
        at a time.

        The decisions are those of `schedule_one`, but all replicas are assumed before the first is
        bound. Returns an empty sequence if there is no pod.
        """
        replicas = self._replicas(limit)
        digests: list[DigestedTotals | None] | None = [] if self._observers.all else None
        placed = self.cycle.schedule_replicas(replicas, digests) if replicas else ()
        if not placed:
            return self._schedule_next()
        profile = self.profiles[placed[0].profile]
        queue = self.queue
        # Bindings may change the queue, so all pods are removed from it first.
        popped = [queue.pop_placed(decision.pod.uid) for decision in placed]
        if digests is not None:
            self._observers.placed(popped, placed, digests)
        for queued, decision in zip(popped, placed, strict=True):
            self._infos.take(queued.pod)
            queue.nominator.forget(queued.uid)
            self.binding.bind_now(queued, decision, profile)
        if digests is not None:
            self._observers.all_carried_out()
        return placed

    def _replicas(self, limit: int) -> Sequence[PodInfo]:
        """Return the next pods if they have one template, can be bound synchronously, and nothing
        can happen between them: no observer needs single pods, and no pod waits for a bound pod."""
        queue = self.queue
        if self.options.extenders or not self._observers.support_replicas or queue.waits_for(BOUND):
            return ()
        if self._nominated.all().by_node:
            return ()  # nodes have to be evaluated with their nominated pods, for one pod at a time
        pods: list[PodInfo] = []
        for queued in queue.leading(limit):
            pod = self._infos.get(queued.pod)
            if pods and pod.template is not pods[0].template:
                break
            if not pods and self._observers.all and not self.cycle.has_cached_totals(pod):
                break
            pods.append(pod)
        profile = self.profiles.get(pods[0].scheduler_name) if len(pods) > 1 else None
        if profile is None or profile.pre_bind.for_pod(pods[0]) or not self.binding.binds_at_once(pods[0], profile):
            return ()
        return pods

    def preview_group(self, pod: str) -> GroupCycle | None:
        """Return the cycle that the waiting group of the pod `namespace/name` would have now; None
        if the pod waits in no group. The scheduler must be that of a fork."""
        group = self.queue.group_with(pod)
        return None if group is None else self._groups.preview(group)

    async def schedule_one_async(self) -> Decision | None:
        """Schedule the next pod like `schedule_one`, with extenders. The next pod waits for this
        one."""
        self._observers.begins()
        queued = self._next_entity()
        while isinstance(queued, QueuedPodGroup):
            decisions = self._groups.schedule(queued)
            if decisions:
                return decisions[-1]
            queued = self.queue.pop_nowait()
        if queued is None:
            return None
        try:
            decision = await self._decide(queued)
            self._carry_out(queued, decision)
        except Exception as cause:
            decision = self._broken(queued, cause)
        self._observers.carried_out(decision)
        return decision

    async def decide(self, pod: PodInfo, observer: Observer | None = None) -> Decision:
        """Return the decision on a pod, with extenders, without carrying it out. The pod is assumed
        on its node."""
        extenders = self.extender_cycle.interested_in(pod)
        if not extenders:
            return self.cycle.schedule_one(pod, observer)
        return await self.extender_cycle.schedule_one(pod, extenders, observer)

    async def _decide(self, queued: QueuedPodInfo) -> Decision:
        pod = self._infos.take(queued.pod)
        try:
            return await self.decide(pod, self._observers.on_evaluated)
        except asyncio.CancelledError:
            self._attempt_failed(queued, Failed(pod, pod.scheduler_name, error(CANCELLED), is_reported=False))
            raise

    def _next_entity(self) -> Queued | None:
        """Return a pod whose postponed attempt can continue, or the next entity of the queue."""
        queued = self.postponed.take_ready()
        if queued is None:
            return self.queue.pop_nowait()
        current = self.pods.get(queued.key)
        if current is not None:
            queued.replace_pod(current)
        return queued

    def _needs_node(self, queued: QueuedPodInfo) -> bool:
        """Return whether a pod in flight still needs a node."""
        current = self.pods.get(queued.key)
        return current is not None and current.metadata.uid == queued.uid and not current.spec.node_name

    def _carry_out(self, queued: QueuedPodInfo, decision: Decision) -> None:
        if self._observers.all:
            self._observers.decided(queued, decision)
        if self.postponed.resumed and not isinstance(decision, Postponed):
            self.postponed.settled(queued.uid)
        if isinstance(decision, Scheduled):
            self.queue.nominator.forget(queued.uid)
            self.binding.start(queued, decision, self.profiles[decision.profile])
        elif isinstance(decision, Postponed):
            self.postponed.add(queued, decision)
        elif isinstance(decision, Dropped):
            self.queue.done(queued.uid)
        else:
            self._attempt_failed(queued, decision)

    def cache_sizes(self) -> dict[str, int]:
        """Return the number of entries of caches keyed by user input."""
        pending = {"pending pods": len(self._infos)}
        return {
            **self.cache.shapes.cache_sizes(),
            **self.cache.nodes.cache_sizes(),
            **self.cycle.cache_sizes(),
            **pending,
        }

    def nominations(self) -> Nominations:
        """Return the nominated pods by node."""
        return self._nominated.all()

    @property
    def known_kinds(self) -> tuple[type[api.Object], ...]:
        """Kinds that are watched or read by plugins; manifests of these kinds are loaded."""
        return (*self.watched_kinds, *self.read_kinds)

    def known_objects(self) -> Iterator[api.Object]:
        """Yield all ingested objects except pods."""
        table = self.cache.nodes
        yield from (table.node(row) for row in table.live_rows())
        for kind in self.known_kinds:
            if kind not in (api.Node, api.Pod):
                yield from self.objects.list(kind)

    # -- failures ---------------------------------------------------------------------------------

    def _attempt_failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        """Requeue the pod, unless it was deleted or has a node now, and report the failure."""
        self._observers.failed(queued, decision)
        if isinstance(decision, Unschedulable):
            plugins, pending = decision.diagnosis.unschedulable_plugins, decision.diagnosis.pending_plugins
            reason, nomination = REASON_UNSCHEDULABLE, decision.nomination
        else:
            plugins, pending = frozenset[str](), frozenset[str]()
            reason = REASON_UNSCHEDULABLE if decision.status.is_rejected else REASON_ERROR
            nomination = CLEARED
        queued.record_attempt(plugins, pending)
        current = self.pods.get(queued.key)
        if current is None or current.spec.node_name:
            self.queue.done(queued.uid)
        elif current.metadata.uid != queued.uid:
            self.queue.done(queued.uid)
            return
        else:
            queued.replace_pod(current)
            self._requeue(queued)
        self.queue.add_nominated_pod(queued.pod, nomination.node if nomination is not None else None)
        if isinstance(decision, Unschedulable) or decision.is_reported:
            self._writer.report_failure(Failure(queued.pod, reason, decision.message, nomination))

    def _requeue(self, queued: QueuedPodInfo) -> None:
        try:
            self.queue.add_unschedulable_if_not_present(queued)
        except PodAlreadyQueuedError:
            return

    # -- internal errors --------------------------------------------------------------------------

    def _broken(self, queued: QueuedPodInfo, cause: Exception) -> Decision:
        """Fail the pod of an attempt with an internal error, leaving nothing of the attempt. Raises
        the error if there are no `internal_errors`."""
        errors = self.options.internal_errors
        if errors is None:
            raise cause
        errors.survived(CYCLE, f"Pod {queued.key}", cause)
        pod = self._infos.bare(queued.pod)
        decision = Failed(pod, pod.scheduler_name, error(INTERNAL_ERROR.format(describe(cause))))
        try:
            self._release(queued)
            self._attempt_failed(queued, decision)
        except Exception as again:
            errors.survived(CYCLE, f"Pod {queued.key}", again)
            self.queue.done(queued.uid)
        return decision

    def _release(self, queued: QueuedPodInfo) -> None:
        self.waiting_pods.remove(queued.uid)
        record = self.cache.get(queued.uid)
        if record is not None and record.life.is_assumed:
            self.cache.forget(record.info)

    def requeue_lost_pods(self) -> None:
        """Requeue pods without a node that are in no queue, after unexpected errors."""
        in_flight = {pod.metadata.uid for pod in self.queue.in_flight_pods()}
        for key, pod in list(self.pods.items()):
            name = pod.scheduler_name
            if pod.spec.node_name or name not in self.profiles or pod.metadata.uid in in_flight:
                continue
            if self.queue.get(key) is None and not self.cache.knows(pod.metadata.uid):
                logger.warning("pod %s was lost after an internal error, and is queued again", key)
                self.queue.add(pod)

    # -- dependencies of the parts ----------------------------------------------------------------

    def _binding_parts(self) -> BindingParts:
        return BindingParts(
            cache=self.cache,
            queue=self.queue,
            waiting_pods=self.waiting_pods,
            pods_in_pre_bind=self.pods_in_pre_bind,
            writer=self._writer,
            nominates=self.options.gates.enabled(NOMINATION_GATE),
            extenders=self.options.extenders,
            bindings_at_once=self.options.bindings_at_once,
            internal_errors=self.options.internal_errors,
        )

    def _group_parts(self) -> GroupParts:
        return GroupParts(
            cycle=self.cycle,
            cache=self.cache,
            queue=self.queue,
            binding=self.binding,
            writer=self._writer,
            observers=self._observers,
            infos=self._infos,
            options=self.options,
        )

    def _handle(self, profile: str) -> ProfileHandle:
        return ProfileHandle(
            profile_name=profile,
            objects=self.objects,
            nodes=TableNodes(self.cache.nodes),
            clock=self.clock,
            gates=self.options.gates,
            binder=self._writer,
            client=self._reader,
            nominated=lambda node: self._nominated.pods_on(node),
            rng=self._rng,
            pods=self._pod_access,
            cycle_what_if=lambda: self.cycle.what_if(profile),
            spawn_task=self._spawn,
            volumes=self._writer,
            resource_claims=self._writer,
            pod_groups=self.cache.pod_groups,
            postpones=self.options.postpones,
        )
