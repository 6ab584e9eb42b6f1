# SPDX-License-Identifier: Apache-2.0
"""Queue, cache, profiles and cycle of one scheduler, put together; and what happens to a decision.

    ingest ─► queue ─pop─► cycle ─► Scheduled ─► binding
                 ▲           └────► Unschedulable, Failed ─► requeue, condition, event
                 └──────────────────────────────────┘

Synchronous: a step that must wait (permission, PreBind, a slow API server) is handed to the host as a coroutine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from steersman import api
from steersman.assembly.construction import SchedulerOptions, make_cycle, make_profiles, make_queue
from steersman.assembly.extender_cycle import ExtenderCycle
from steersman.assembly.nominations import NominatedPods
from steersman.assembly.observers import AttemptObserver, Observers
from steersman.assembly.pending_pods import PendingInfos
from steersman.assembly.pod_access import SchedulerPods
from steersman.assembly.postponed import PostponedAttempts
from steersman.binding import BindingCycle, BindingParts
from steersman.clock import Clock
from steersman.cycle.decision import Decision, Dropped, Failed, Postponed, Scheduled, Unschedulable
from steersman.cycle.schedule_one import Observer
from steersman.engine.evaluation import Evaluation
from steersman.engine.totals_digest import DigestedTotals
from steersman.framework.events import ASSIGNED_POD_ADD
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.framework.ports import CLEARED, REASON_ERROR, REASON_UNSCHEDULABLE, ApiWriter, Failure, Spawn
from steersman.framework.reading import ApiReader, NoReader
from steersman.framework.status import error
from steersman.framework.watching import with_custom
from steersman.graph_copy import copied_attributes, shallow
from steersman.ingest import Ingest
from steersman.ingest.pod_level_resources import seen_pods
from steersman.internal_errors import INTERNAL_ERROR, describe
from steersman.queue import (
    PodAlreadyQueuedError,
    QueuedPodInfo,
)
from steersman.rng import Rng
from steersman.runtime.background import Background
from steersman.runtime.faults import CycleAborted
from steersman.runtime.handle import ProfileHandle, TableNodes
from steersman.runtime.pods_in_pre_bind import PodsInPreBind
from steersman.runtime.profile import Profile
from steersman.runtime.profiles import kinds_of_profiles, reads_of_profiles
from steersman.runtime.waiting_pods import WaitingPods
from steersman.state.cache import Cache
from steersman.state.nominations import Nominations
from steersman.state.objects import ObjectStore

logger = logging.getLogger(__name__)

#: What the others hear of when a pod is bound.
BOUND = ASSIGNED_POD_ADD
CYCLE = "scheduling cycle"
CANCELLED = "scheduling cycle cancelled"
NOMINATION_GATE = "NominatedNodeNameForExpectation"


def _refusal(decision: Decision) -> str:
    """Why a pod is not even evaluated."""
    return decision.reason if isinstance(decision, Dropped) else getattr(decision, "message", "")


class Preview(NamedTuple):
    """A pod whose turn it is."""

    pod: PodInfo
    #: Valid until the state changes; None: nothing can be evaluated.
    evaluation: Evaluation | None
    #: Why not.
    message: str = ""


@copied_attributes(pods=shallow)
class Scheduler:
    """Queue, cache, profiles and cycle of one scheduler; a host drives it by `schedule_one` or `schedule_some`."""

    def __init__(
        self,
        clock: Clock,
        rng: Rng,
        writer: ApiWriter,
        spawn: Spawn,
        options: SchedulerOptions | None = None,
        reader: ApiReader | None = None,
    ) -> None:
        """`reader` is what plugins read with; without one, they are told that there is no cluster to read."""
        options = options or SchedulerOptions()
        self.options = options
        self._has_extenders = bool(options.extenders)
        self.clock = clock
        self._rng = rng
        self._writer = writer
        self._reader = reader or NoReader()
        self._spawn = spawn
        self.objects = ObjectStore()
        self.cache = Cache(self.objects)
        self.waiting_pods = WaitingPods()
        self.pods_in_pre_bind = PodsInPreBind()
        #: Every pod that is not finished, by namespace/name, as the API server last showed it.
        self.pods: dict[str, api.Pod] = {}
        self._infos = PendingInfos(self.cache.shapes, self.pods)
        #: Told what happens to every pod.
        self._observers = Observers(options.internal_errors)
        self._pod_access = SchedulerPods(self.pods, self.waiting_pods, self.pods_in_pre_bind, writer)
        self.profiles = make_profiles(options, self._handle)
        #: What the host has to tell `ingest` of.
        self.watched_kinds = with_custom(kinds_of_profiles(self.profiles.values()))
        #: What plugins read by themselves, watched or not.
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
        self._extender_cycle = ExtenderCycle(self.cycle, self.cache, options.extenders)
        #: A host that chose `postpones` runs it beside the scheduling.
        self.postponed = PostponedAttempts(
            clock, self._still_waits, self.queue.done, self._attempt_failed, lambda: self.queue.on_ready()
        )
        #: What plugins do beside the scheduling; the host runs it.
        self.background = Background(self.profiles.values(), self.queue.move_all)
        if options.instruments is not None:
            self.observe(options.instruments.observer)

    def observe(self, observer: AttemptObserver) -> None:
        """From now on the observer is told what happens, after those that came before it."""
        self._observers.add(observer)
        self.binding.on_bound = self._observers.bound

    # -- running -----------------------------------------------------------------------------------------------------

    def schedule_one(self, placed: tuple[str, str] | None = None) -> Decision | None:
        """Takes the next pod and carries its decision as far as possible; None when there is nothing to pop.

        `placed` is the uid of the next pod, and the feasible node that it gets whichever is the best.
        """
        if self._has_extenders:
            raise RuntimeError("extenders have to be waited for: schedule_one_async() does that")
        if placed is None and not self._observers.all and not self.postponed.ready and self._writer.binds_at_once:
            queued = self.queue.take_active()
            if queued is not None:
                return self._schedule_taken(queued)
        self._observers.begins()
        queued = self._next_pod() if self.postponed.ready else self.queue.pop_nowait()
        return None if queued is None else self._schedule(queued, None, placed)

    def _schedule_taken(self, queued: QueuedPodInfo) -> Decision:
        """Schedules a pod whose attempt has not begun, and whom nobody observes. One that its signature answers for is bound
        before it would be in flight."""
        queue = self.queue
        try:
            pod = self._infos.take(queued.pod)
            decision = self.cycle.place_simply(pod, alone=True)
        except CycleAborted:
            decision = None  # evaluated, it breaks again, and that is told
        except Exception as cause:
            queue.begin(queued)
            return self._broken(queued, cause)
        if not isinstance(decision, Scheduled):
            queue.begin(queued)
            return self._schedule(queued, pod)
        try:
            queue.begin_and_end(queued)  # nobody is nominated anywhere, or it could not be placed so simply
            self.binding.bind_now(queued, decision, self.profiles[decision.profile])
        except Exception as cause:
            return self._broken(queued, cause)
        return decision

    def _schedule(self, queued: QueuedPodInfo, pod: PodInfo | None, placed: tuple[str, str] | None = None) -> Decision:
        """Schedules a pod that is in flight; `pod` is None if nobody has asked for its info."""
        observers = self._observers
        try:
            node = placed[1] if placed is not None and placed[0] == queued.uid else ""
            decision = self.cycle.schedule_one(pod or self._infos.take(queued.pod), observers.on_evaluated, node)
            self._carry_out(queued, decision)
        except Exception as cause:
            decision = self._broken(queued, cause)
        if observers.all:
            observers.carried_out(decision)
        return decision

    def preview(self) -> Preview | None:
        """The next pod against all nodes, before anything is decided; None when there is nothing to pop."""
        queued = self.queue.peek()
        if queued is None:
            return None
        pod = self._infos.get(queued.pod)
        profile = self.cycle.admit(pod)
        if not isinstance(profile, Profile):
            return Preview(pod, None, _refusal(profile))
        try:
            return Preview(pod, self.cycle.preview(profile, pod))
        except CycleAborted as abort:
            return Preview(pod, None, abort.status.message)

    def schedule_some(self, most: int) -> Sequence[Decision]:
        """The next pods, at most so many: replicas together, which is faster, others one at a time. Decides as
        `schedule_one` does, but finds nodes for all of the replicas before the first of them is bound. Nothing when there is
        nothing to pop."""
        replicas = self._replicas(most)
        digests: list[DigestedTotals | None] | None = [] if self._observers.all else None
        placed = self.cycle.schedule_replicas(replicas, digests) if replicas else ()
        if not placed:
            decision = self.schedule_one()
            return () if decision is None else (decision,)
        profile = self.profiles[placed[0].profile]
        queue = self.queue
        # Bindings have consequences, for other pods of the queue too: first all are taken out.
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

    def _replicas(self, most: int) -> Sequence[PodInfo]:
        """The next pods of the queue, as long as they are of one template, can be bound at once, and nothing could happen
        between two of them: nobody observes them one by one, and no pod waits for one of them to be bound."""
        queue = self.queue
        if self.options.extenders or not self._observers.follow_replicas or queue.waits_for(BOUND):
            return ()
        pods: list[PodInfo] = []
        for queued in queue.leading(most):
            pod = self._infos.get(queued.pod)
            if pods and pod.template is not pods[0].template:
                break
            if not pods and self._observers.all and not self.cycle.keeps_totals_of(pod):
                break
            pods.append(pod)
        profile = self.profiles.get(pods[0].scheduler_name) if len(pods) > 1 else None
        if profile is None or profile.pre_bind.of(pods[0]) or not self.binding.binds_at_once(pods[0], profile):
            return ()
        return pods

    async def schedule_one_async(self) -> Decision | None:
        """`schedule_one` with the extenders that are interested in the pod. One at a time: the next pod waits for this one."""
        self._observers.begins()
        queued = self._next_pod()
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
        """The decision on a pod, with the extenders that are interested in it; nothing is carried out. A node that is found is
        assumed."""
        extenders = self._extender_cycle.interested_in(pod)
        if not extenders:
            return self.cycle.schedule_one(pod, observer)
        return await self._extender_cycle.schedule_one(pod, extenders, observer)

    async def _decide(self, queued: QueuedPodInfo) -> Decision:
        pod = self._infos.take(queued.pod)
        try:
            return await self.decide(pod, self._observers.on_evaluated)
        except asyncio.CancelledError:
            self._attempt_failed(queued, Failed(pod, pod.scheduler_name, error(CANCELLED), is_reported=False))
            raise

    def _next_pod(self) -> QueuedPodInfo | None:
        """One whose postponed attempt can go on, or the next of the queue."""
        queued = self.postponed.take_ready()
        if queued is None:
            return self.queue.pop_nowait()
        current = self.pods.get(queued.key)
        if current is not None:
            queued.replace_pod(current)
        return queued

    def _still_waits(self, queued: QueuedPodInfo) -> bool:
        """Whether a pod in flight still wants a node."""
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

    def kept(self) -> dict[str, int]:
        """How many entries there are in the tables that are keyed by what users write, by table."""
        pending = {"pending pods": len(self._infos)}
        return {**self.cache.shapes.kept(), **self.cache.nodes.kept(), **self.cycle.kept(), **pending}

    def nominations(self) -> Nominations:
        """Nominated pods by node."""
        return self._nominated.all()

    @property
    def known_kinds(self) -> tuple[type[api.Object], ...]:
        """The kinds that are watched or that plugins read: manifests of these are loaded."""
        return (*self.watched_kinds, *self.read_kinds)

    # -- failures ----------------------------------------------------------------------------------------------------

    def _attempt_failed(self, queued: QueuedPodInfo, decision: Unschedulable | Failed) -> None:
        """Back to the queue unless the pod has gone, or got a node, meanwhile; and the world is told why."""
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

    # -- programming errors ------------------------------------------------------------------------------------------

    def _broken(self, queued: QueuedPodInfo, cause: Exception) -> Decision:
        """A pod whose attempt broke off fails like any other, and nothing of the attempt is left. Without a place to report
        it to, the error goes on."""
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

    def adopt_lost_pods(self) -> None:
        """Puts pods back into the queue that wait for a node and are nowhere: after errors that nobody foresaw."""
        in_flight = {pod.metadata.uid for pod in self.queue.in_flight_pods()}
        for key, pod in list(self.pods.items()):
            name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
            if pod.spec.node_name or name not in self.profiles or pod.metadata.uid in in_flight:
                continue
            if self.queue.get(key) is None and not self.cache.knows(pod.metadata.uid):
                logger.warning("pod %s was lost after an internal error, and is queued again", key)
                self.queue.add(pod)

    # -- given to parts ----------------------------------------------------------------------------------------------

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

    def _handle(self, profile: str) -> ProfileHandle:
        return ProfileHandle(
            profile_name=profile,
            objects=self.objects,
            nodes=TableNodes(self.cache.nodes),
            clock=self.clock,
            gates=self.options.gates,
            binder=self._writer,
            client=self._reader,
            nominated=lambda node: self._nominated.on(node),
            rng=self._rng,
            pods=self._pod_access,
            cycle_what_if=lambda: self.cycle.what_if(profile),
            spawn_task=self._spawn,
            volumes=self._writer,
            resource_claims=self._writer,
            postpones=self.options.postpones,
        )
