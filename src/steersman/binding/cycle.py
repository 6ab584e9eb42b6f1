# SPDX-License-Identifier: Apache-2.0
"""The binding cycle of one pod.

    Scheduled ─► PreBindPreFlight ─► WaitOnPermit ─► PreBind ─► Bind ─► PostBind
                       └──────────────────┴─────────────┴─────────┴─► Unreserve, forget, wake others, requeue

The next scheduling cycle does not wait for it. Where nothing has to be waited for (no permission, no PreBind work, a
writer that binds at once) the whole of it runs without a task. `permission` waits, `plugin_calls` asks the plugins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import msgspec

from steersman.binding import plugin_calls
from steersman.binding.direct_bindings import DirectBinding, DirectBindingEnds, DirectBindings
from steersman.binding.guarded import Guarded
from steersman.binding.permission import Permission
from steersman.cycle import commit
from steersman.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.errors import SteersmanError
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ASSIGNED_POD_DELETE
from steersman.framework.extender import Extender, ExtenderError
from steersman.framework.pod_info import PodInfo
from steersman.framework.pods_to_activate import take_pods_to_activate
from steersman.framework.ports import CLEARED, ApiWriter, BindingBeginner, Spawn
from steersman.framework.status import Status, error, unschedulable
from steersman.internal_errors import INTERNAL_ERROR, InternalErrors, describe
from steersman.queue import QueuedPodInfo, SchedulingQueue
from steersman.runtime.faults import as_fault, fault
from steersman.runtime.pods_in_pre_bind import PodsInPreBind
from steersman.runtime.profile import DEFAULT_BINDER, PreBindCall, Profile, RawCall
from steersman.runtime.waiting_pods import PodAtPermit, WaitingPods
from steersman.state.cache import Cache

logger = logging.getLogger(__name__)

#: The nomination is a courtesy to others; binding does not wait for it any longer.
LONGEST_NOMINATION_SECONDS = 30.0
CANCELLED = "binding cycle cancelled"
#: More requests at once would only wait for each other in the API server. Half of them are answered in the pause of
#: `client.read_pacing`; the server works on the others meanwhile, and with 32 it would run out of work at times.
BINDINGS_AT_ONCE = 48
FILLED = 'node "{}" was filled by others before the pod could be bound to it'

BINDING = "binding"

Failure = Unschedulable | Failed
OnFailure = Callable[[QueuedPodInfo, Failure], None]


class BindingUnanswered(Exception):
    """Nobody knows whether the pod is bound."""


class BindingParts(msgspec.Struct, frozen=True):
    """The parts of a scheduler that binding cycles work on."""

    cache: Cache
    queue: SchedulingQueue
    waiting_pods: WaitingPods
    pods_in_pre_bind: PodsInPreBind
    writer: ApiWriter
    #: Tells the API server where the pod will run when that takes time (gate NominatedNodeNameForExpectation).
    nominates: bool
    extenders: Sequence[Extender] = ()
    bindings_at_once: int = BINDINGS_AT_ONCE
    #: None: a programming error goes on to the host.
    internal_errors: InternalErrors | None = None


class BindingCycle:
    """Starts binding cycles and sees each to its end."""

    def __init__(self, parts: BindingParts, on_failure: OnFailure, spawn: Spawn) -> None:
        self._cache = parts.cache
        self._queue = parts.queue
        self._waiting_pods = parts.waiting_pods
        self._pods_in_pre_bind = parts.pods_in_pre_bind
        self._writer = parts.writer
        self._nominates = parts.nominates
        self._binders = [extender for extender in parts.extenders if extender.is_binder]
        self._internal_errors = parts.internal_errors
        #: Told of every pod that is bound.
        self.on_bound: Callable[[Scheduled], None] | None = None
        self._on_failure = on_failure
        self._spawn = spawn
        self._turns = asyncio.Semaphore(parts.bindings_at_once)
        #: Pods that nobody but the API server has to be asked about; None: this writer needs a task for each.
        self._direct = (
            self._make_direct(parts.writer, parts.bindings_at_once)
            if isinstance(parts.writer, BindingBeginner)
            else None
        )

    def _make_direct(self, writer: BindingBeginner, most: int) -> DirectBindings:
        ends = DirectBindingEnds(
            still_fits=self._still_fits,
            succeed=self._succeed,
            by_task=self._by_task,
            cancelled=self._cancelled,
            survived=self._broken,
            broken=self._fail_broken,
        )
        return DirectBindings(writer, ends, self._spawn, most)

    def start(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        """Binds at once where possible, else leaves the rest to a task."""
        pod = decision.pod
        calls = profile.pre_bind.of(pod)
        try:
            if calls or decision.waits or decision.state.entries or not self.binds_at_once(pod, profile):
                self._start(queued, decision, profile, calls)
            else:
                self._queue.done(queued.uid)
                self.bind_now(queued, decision, profile)
        except Exception as cause:
            self._fail_broken(queued, decision, profile, cause)

    def _start(
        self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, calls: tuple[PreBindCall, ...]
    ) -> None:
        """`calls`: the PreBind plugins that the pod concerns. If none of them has work to do, a task may not be needed."""
        pod, waits = decision.pod, decision.waits
        if waits:
            self._waiting_pods.add(PodAtPermit(pod, decision.node, waits))
        self._activate(decision.state)
        work = plugin_calls.pre_flight(decision, calls) if calls else ()
        if isinstance(work, Status):
            self._fail(queued, decision, profile, Failed(pod, profile.name, work))
        elif not work and not waits and self.binds_at_once(pod, profile):
            self._queue.done(queued.uid)
            self.bind_now(queued, decision, profile)
        else:
            fitted = self._cache.has_room_for(pod, decision.choice.node)
            if not work and not waits and self._direct is not None and self._is_one_request(profile):
                self._queue.done(queued.uid)
                self._direct.add(DirectBinding(queued, decision, profile, fitted, self._cache.foreign_changes))
                return
            run = self._run(queued, decision, profile, work, fitted)
            self._spawn(Guarded(run, lambda: self._cancelled(queued, decision, profile)))

    def _is_one_request(self, profile: Profile) -> bool:
        """Whether binding a pod is a request to the API server and nothing else."""
        return profile.binds_by_default and not self._binders

    # -- by direct requests ------------------------------------------------------------------------------------------

    def _still_fits(self, binding: DirectBinding) -> bool:
        """Whether another scheduler has left the pod its room; if not, the attempt has failed."""
        queued, decision, profile, fitted, foreign_changes = binding
        if not fitted or foreign_changes == self._cache.foreign_changes:
            return True
        pod, node = decision.pod, decision.choice.node
        if self._cache.has_room_for(pod, node):
            return True
        self._fail(queued, decision, profile, Failed(pod, profile.name, unschedulable(FILLED.format(node))))
        return False

    async def _by_task(self, binding: DirectBinding, failure: SteersmanError | None) -> None:
        queued, decision, profile, fitted, _ = binding
        await self._run(queued, decision, profile, (), fitted, failure)

    # -- without a task ----------------------------------------------------------------------------------------------

    def binds_at_once(self, pod: PodInfo, profile: Profile) -> bool:
        """Whether the pod, and others of its template, can be bound without waiting for anything."""
        return self._writer.binds_at_once and profile.binds_by_default and not (self._binders and self._binders_of(pod))

    def bind_now(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        """Binds a pod that is not in flight any more."""
        try:
            status = self._writer.bind_nowait(decision.pod, decision.choice.node)
        except Exception as cause:
            status = fault("Bind", DEFAULT_BINDER, cause)
        if status is None:
            self._succeed(decision, profile)
            return
        status = as_fault("Bind", DEFAULT_BINDER, status)
        self._fail(queued, decision, profile, Failed(decision.pod, profile.name, status))

    # -- in a task ---------------------------------------------------------------------------------------------------

    async def _run(
        self,
        queued: QueuedPodInfo,
        decision: Scheduled,
        profile: Profile,
        work: tuple[RawCall, ...],
        fitted: bool,
        begun: SteersmanError | None = None,
    ) -> None:
        """`fitted`: the node had room for the pod when it was chosen. `begun`: so failed the direct request."""
        try:
            failure = await self._phases(decision, profile, work, fitted, begun)
        except asyncio.CancelledError:
            self._cancelled(queued, decision, profile)
            raise
        except Exception as cause:
            failure = self._broken(decision, profile, cause)
        if failure is None:
            self._succeed(decision, profile)
        else:
            self._fail(queued, decision, profile, failure)

    async def _phases(
        self,
        decision: Scheduled,
        profile: Profile,
        work: tuple[RawCall, ...],
        fitted: bool,
        begun: SteersmanError | None,
    ) -> Failure | None:
        """Up to and including Bind. Permit is the last point that can make a pod unschedulable: what fails later is
        tried again, so that the events of the meantime need not be kept."""
        pod = decision.pod
        refusal = await self._nominate_and_wait(decision, bool(work))
        if refusal is not None:
            return _as_failure(decision, profile, refusal)
        self._queue.done(pod.uid)
        status = await self._pre_bind(decision, work) if work else None
        try:
            if status is None:
                status = await self._bind_in_turn(decision, profile, fitted, begun)
        except BindingUnanswered as doubt:
            logger.info("pod %s may have been bound, its failure is not reported: %s", pod.key, doubt)
            return Failed(pod, profile.name, error(str(doubt)), is_reported=False)
        return None if status is None else Failed(pod, profile.name, status)

    async def _nominate_and_wait(self, decision: Scheduled, has_work: bool) -> Status | None:
        waiting = self._waiting_pods.get(decision.pod.uid) if decision.waits else None
        if waiting is None:
            if has_work:
                await self._nominate(decision)
            return None
        with Permission(waiting) as permission:
            await self._nominate(decision)
            verdict = await permission.verdict()
        self._waiting_pods.remove(decision.pod.uid)
        return verdict

    async def _nominate(self, decision: Scheduled) -> None:
        """Others (a cluster autoscaler) see early where the pod will run. If that fails, binding goes on."""
        pod, node = decision.pod.pod, decision.node
        if not self._nominates or pod.status.nominated_node_name == node:
            return
        try:
            async with asyncio.timeout(LONGEST_NOMINATION_SECONDS):
                await self._writer.patch_pod_status(pod, nominated_node_name=node)
        except Exception:
            logger.exception("cannot write the nominated node %s of pod %s", node, decision.pod.key)

    async def _pre_bind(self, decision: Scheduled, work: Sequence[RawCall]) -> Status | None:
        """In a task of its own, which preemption may cancel until Bind begins."""
        uid = decision.pod.uid
        entry = self._pods_in_pre_bind.add(uid)
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(plugin_calls.pre_bind(work, decision, entry))
                entry.on_cancel(running.cancel)
            if not running.cancelled() and (status := running.result()) is not None:
                return status
            return None if entry.finish() else error(entry.cancelled_by)
        finally:
            self._pods_in_pre_bind.remove(uid)

    async def _bind_in_turn(
        self, decision: Scheduled, profile: Profile, fitted: bool, begun: SteersmanError | None
    ) -> Status | None:
        """The API server gets only some at once: who would wait for it waits here, where it can still be noticed that
        another scheduler has filled the node meanwhile. Other binders take the time that they take."""
        async with self._turns if self._is_one_request(profile) else nullcontext():
            if begun is not None:
                return await self._resume(decision, begun)
            if fitted and not self._cache.has_room_for(decision.pod, decision.node):
                return unschedulable(FILLED.format(decision.node))
            return await self._bind(decision, profile)

    async def _resume(self, decision: Scheduled, begun: SteersmanError) -> Status | None:
        """Goes on with a binding whose direct request failed: the server may have carried it out."""
        assert isinstance(self._writer, BindingBeginner)
        status = await self._writer.resume_bind(decision.pod, decision.choice.node, begun)
        return None if status is None else as_fault("Bind", DEFAULT_BINDER, status)

    async def _bind(self, decision: Scheduled, profile: Profile) -> Status | None:
        """By the first extender that binds such pods; without one by the plugins."""
        pod = decision.pod
        for extender in self._binders_of(pod):
            try:
                await extender.bind(pod, decision.node)
            except ExtenderError as cause:
                if extender.is_ignorable:
                    logger.info("extender %s cannot bind pod %s and is left out: %s", extender.name, pod.key, cause)
                    continue
                if cause.may_have_acted:
                    raise BindingUnanswered(str(cause)) from cause
                return error(str(cause))
            return None
        return await plugin_calls.bind(decision, profile)

    def _binders_of(self, pod: PodInfo) -> list[Extender]:
        return [extender for extender in self._binders if extender.is_interested(pod)]

    # -- the end -----------------------------------------------------------------------------------------------------

    def _succeed(self, decision: Scheduled, profile: Profile) -> None:
        pod, node = decision.pod, decision.choice.node
        self._cache.finish_binding(pod)
        try:
            self._writer.report_scheduled(pod, node)
            for call in profile.post_bind:
                call.run(decision.state, pod, node)
            if decision.state.entries:
                self._activate(decision.state)
            if self.on_bound is not None:
                self.on_bound(decision)
        except Exception as cause:
            self._broken(decision, profile, cause)  # the pod is bound nevertheless

    def _fail(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, failure: Failure) -> None:
        """The pod goes back to the queue, and the room it had is announced to the others. A pod that was rejected must
        not be woken by its own departure, so it is put back first."""
        pod = decision.pod
        self._waiting_pods.remove(pod.uid)
        commit.unreserve(profile, decision.state, pod, decision.node)
        released = self._cache.is_assumed(pod.uid)
        if released:
            self._cache.forget(pod)
        departed = commit.assigned(pod.pod, decision.node)
        if _is_rejection(failure):
            self._on_failure(queued, failure)
            if released:
                self._queue.move_all(ASSIGNED_POD_DELETE, departed, None, lambda other: other.metadata.uid != pod.uid)
            return
        if released:
            self._queue.move_all(ASSIGNED_POD_DELETE, departed, None)
        self._on_failure(queued, failure)

    def _cancelled(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        """The host ends the task: everything is given back here. Nothing is written: the lease may be lost, and the server may
        have bound the pod."""
        failure = Failed(decision.pod, profile.name, error(CANCELLED), is_reported=False)
        self._fail(queued, decision, profile, failure)

    def _fail_broken(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, cause: Exception) -> None:
        self._fail(queued, decision, profile, self._broken(decision, profile, cause))

    def _broken(self, decision: Scheduled, profile: Profile, cause: Exception) -> Failed:
        """The end of an attempt after a programming error; without a place to report it to, the error goes on."""
        if self._internal_errors is None:
            raise cause
        self._internal_errors.survived(BINDING, f"Pod {decision.pod.key}", cause)
        return Failed(decision.pod, profile.name, error(INTERNAL_ERROR.format(describe(cause))))

    def _activate(self, state: CycleState) -> None:
        if pods := take_pods_to_activate(state):
            self._queue.activate(pods)


def _as_failure(decision: Scheduled, profile: Profile, verdict: Status) -> Failure:
    """The failure of a pod that was not permitted."""
    if not verdict.is_rejected:
        return Failed(decision.pod, profile.name, verdict)
    diagnosis = commit.rejection(decision.pod, decision.node, verdict)
    return Unschedulable(decision.pod, profile.name, diagnosis, diagnosis.message(), CLEARED)


def _is_rejection(failure: Failure) -> bool:
    return isinstance(failure, Unschedulable) or failure.status.is_rejected
