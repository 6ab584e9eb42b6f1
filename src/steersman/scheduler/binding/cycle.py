# SPDX-License-Identifier: Apache-2.0
"""The binding cycle of one pod.

    Scheduled ─► PreBindPreFlight ─► WaitOnPermit ─► PreBind ─► Bind ─► PostBind
                       └──────────────────┴─────────────┴─────────┴─► Unreserve, forget, requeue

The next scheduling cycle does not wait for it. If there is nothing to wait for (no permission, no
PreBind work, a writer that binds synchronously), it runs without a task. `permission` waits,
`plugin_calls` calls the plugins.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import msgspec

from steersman.base import INTERNAL_ERROR, InternalErrors, SteersmanError, describe
from steersman.framework import (
    ASSIGNED_POD_DELETE,
    CLEARED,
    ApiWriter,
    BindingBeginner,
    CycleState,
    Extender,
    ExtenderError,
    PodInfo,
    Spawn,
    Status,
    error,
    take_pods_to_activate,
    unschedulable,
)
from steersman.scheduler.binding import plugin_calls
from steersman.scheduler.binding.direct_bindings import DirectBinding, DirectBindingEnds, DirectBindings
from steersman.scheduler.binding.guarded import Guarded
from steersman.scheduler.binding.permission import Permission
from steersman.scheduler.cycle import commit
from steersman.scheduler.cycle.decision import Failed, Scheduled, Unschedulable
from steersman.scheduler.queue import QueuedPodInfo, SchedulingQueue
from steersman.scheduler.runtime.faults import as_fault, fault
from steersman.scheduler.runtime.pods_in_pre_bind import PodsInPreBind
from steersman.scheduler.runtime.profile import DEFAULT_BINDER, PreBindCall, Profile, RawCall
from steersman.scheduler.runtime.waiting_pods import PodAtPermit, WaitingPods
from steersman.scheduler.state.cache import Cache

logger = logging.getLogger(__name__)

#: Writing the nomination is optional information for others; binding continues after this timeout.
MAX_NOMINATION_SECONDS = 30.0
CANCELLED = "binding cycle cancelled"
#: More concurrent requests would only wait for each other in the API server. Half of them are
#: answered during the pause of `client.read_pacing` while the server works on the others; with 32
#: it would run idle at times.
MAX_CONCURRENT_BINDINGS = 48
FILLED = 'node "{}" was filled by others before the pod could be bound to it'

BINDING = "binding"

Failure = Unschedulable | Failed
OnFailure = Callable[[QueuedPodInfo, Failure], None]


class BindingUnanswered(Exception):
    """It is unknown whether the pod is bound."""


class BindingParts(msgspec.Struct, frozen=True):
    """The parts of a scheduler that binding cycles use."""

    cache: Cache
    queue: SchedulingQueue
    waiting_pods: WaitingPods
    pods_in_pre_bind: PodsInPreBind
    writer: ApiWriter
    #: Whether to write the nominated node before slow bindings (gate
    #: NominatedNodeNameForExpectation).
    nominates: bool
    extenders: Sequence[Extender] = ()
    bindings_at_once: int = MAX_CONCURRENT_BINDINGS
    #: Collects internal errors; if None, they are raised to the host.
    internal_errors: InternalErrors | None = None


class BindingCycle:
    """Starts binding cycles and completes them."""

    def __init__(self, parts: BindingParts, on_failure: OnFailure, spawn: Spawn) -> None:
        self._cache = parts.cache
        self._queue = parts.queue
        self._waiting_pods = parts.waiting_pods
        self._pods_in_pre_bind = parts.pods_in_pre_bind
        self._writer = parts.writer
        self._nominates = parts.nominates
        self._binders = [extender for extender in parts.extenders if extender.is_binder]
        self._internal_errors = parts.internal_errors
        #: Called for every bound pod.
        self.on_bound: Callable[[Scheduled], None] | None = None
        self._on_failure = on_failure
        self._spawn = spawn
        self._turns = asyncio.Semaphore(parts.bindings_at_once)
        #: Sends bindings that need no other work; None if the writer needs a task for each.
        self._direct = (
            self._make_direct(parts.writer, parts.bindings_at_once)
            if isinstance(parts.writer, BindingBeginner)
            else None
        )

    def _make_direct(self, writer: BindingBeginner, limit: int) -> DirectBindings:
        ends = DirectBindingEnds(
            still_fits=self._still_fits,
            succeed=self._succeed,
            continue_in_task=self._bind_in_task,
            cancelled=self._cancelled,
            survived=self._broken,
            broken=self._fail_broken,
        )
        return DirectBindings(writer, ends, self._spawn, limit)

    @property
    def direct(self) -> DirectBindings | None:
        """The bindings that are single requests; None if the writer needs a task for each."""
        return self._direct

    @property
    def has_tasks(self) -> bool:
        """Whether a plugin's PreBind is running."""
        return len(self._pods_in_pre_bind) > 0

    def start(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        """Bind synchronously if possible, else in a task."""
        pod = decision.pod
        calls = profile.pre_bind.for_pod(pod)
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
        """Start the binding; `calls` are the PreBind plugins that apply to the pod. A task is only
        created if there is something to wait for."""
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
                self._direct.add(DirectBinding(queued, decision, profile, fitted, self._cache.external_changes))
                return
            run = self._run(queued, decision, profile, work, fitted)
            self._spawn(Guarded(run, lambda: self._cancelled(queued, decision, profile)))

    def _is_one_request(self, profile: Profile) -> bool:
        """Return whether a binding is a single request to the API server."""
        return profile.binds_by_default and not self._binders

    # -- by direct requests -----------------------------------------------------------------------

    def _still_fits(self, binding: DirectBinding) -> bool:
        """Return whether the node still has room for the pod, which another scheduler may have
        taken; if not, fail the attempt."""
        queued, decision, profile, fitted, external_changes = binding
        if not fitted or external_changes == self._cache.external_changes:
            return True
        pod, node = decision.pod, decision.choice.node
        if self._cache.has_room_for(pod, node):
            return True
        self._fail(queued, decision, profile, Failed(pod, profile.name, unschedulable(FILLED.format(node))))
        return False

    async def _bind_in_task(self, binding: DirectBinding, failure: SteersmanError | None) -> None:
        queued, decision, profile, fitted, _ = binding
        await self._run(queued, decision, profile, (), fitted, failure)

    # -- without a task ---------------------------------------------------------------------------

    def binds_at_once(self, pod: PodInfo, profile: Profile) -> bool:
        """Return whether the pod, and others of its template, can be bound synchronously."""
        return self._writer.binds_at_once and profile.binds_by_default and not (self._binders and self._binders_of(pod))

    def bind_now(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        """Bind a pod that is no longer in flight."""
        try:
            status = self._writer.bind_nowait(decision.pod, decision.choice.node)
        except Exception as cause:
            status = fault("Bind", DEFAULT_BINDER, cause)
        if status is None:
            self._succeed(decision, profile)
            return
        status = as_fault("Bind", DEFAULT_BINDER, status)
        self._fail(queued, decision, profile, Failed(decision.pod, profile.name, status))

    # -- in a task --------------------------------------------------------------------------------

    async def _run(
        self,
        queued: QueuedPodInfo,
        decision: Scheduled,
        profile: Profile,
        work: tuple[RawCall, ...],
        fitted: bool,
        begun: SteersmanError | None = None,
    ) -> None:
        """Run the binding cycle. `fitted` says whether the node had room for the pod when it was
        chosen; `begun` is the error of the direct request, if one was sent."""
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
        """Run the phases up to Bind and return the failure, if any. Permit is the last phase that
        can make a pod unschedulable: later failures are retried, so that events need not be
        recorded any longer."""
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
        """Write the nominated node, so that other components, such as a cluster autoscaler, can
        read it early. A failure is ignored."""
        pod, node = decision.pod.pod, decision.node
        if not self._nominates or pod.status.nominated_node_name == node:
            return
        try:
            async with asyncio.timeout(MAX_NOMINATION_SECONDS):
                await self._writer.patch_pod_status(pod, nominated_node_name=node)
        except SteersmanError as failure:  # the request's own log names its cause
            logger.debug("cannot write the nominated node %s of pod %s: %s", node, decision.pod.key, failure)
        except Exception:
            logger.exception("cannot write the nominated node %s of pod %s", node, decision.pod.key)

    async def _pre_bind(self, decision: Scheduled, work: Sequence[RawCall]) -> Status | None:
        """Run PreBind in a task of its own, which preemption may cancel until Bind begins."""
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
        """Bind the pod when one of the concurrent requests to the API server is free. Waiting here
        allows noticing that another scheduler has filled the node. Other binders are not limited.
        """
        async with self._turns if self._is_one_request(profile) else nullcontext():
            if begun is not None:
                return await self._resume(decision, begun)
            if fitted and not self._cache.has_room_for(decision.pod, decision.node):
                return unschedulable(FILLED.format(decision.node))
            return await self.bind(decision, profile)

    async def _resume(self, decision: Scheduled, begun: SteersmanError) -> Status | None:
        """Continue a binding whose direct request failed; the server may have carried it out."""
        assert isinstance(self._writer, BindingBeginner)
        status = await self._writer.resume_bind(decision.pod, decision.choice.node, begun)
        return None if status is None else as_fault("Bind", DEFAULT_BINDER, status)

    async def bind(self, decision: Scheduled, profile: Profile) -> Status | None:
        """Bind by the first extender that binds such pods, else by the plugins."""
        pod = decision.pod
        for extender in self._binders_of(pod):
            try:
                await extender.bind(pod, decision.node)
            except ExtenderError as cause:
                if extender.is_ignorable:
                    logger.info("extender %s cannot bind pod %s and is skipped: %s", extender.name, pod.key, cause)
                    continue
                if cause.may_have_acted:
                    raise BindingUnanswered(str(cause)) from cause
                return error(str(cause))
            return None
        return await plugin_calls.bind(decision, profile)

    def _binders_of(self, pod: PodInfo) -> list[Extender]:
        return [extender for extender in self._binders if extender.is_interested(pod)]

    # -- completion -------------------------------------------------------------------------------

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
            self._broken(decision, profile, cause)  # the pod is bound anyway

    def _fail(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, failure: Failure) -> None:
        """Undo the attempt and requeue the pod, with an event for its released resources. A
        rejected pod is requeued before the event, because it must not be moved by its own removal.
        """
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
        """Undo the attempt of a task cancelled by the host. Nothing is written: the lease may be
        lost, and the server may have bound the pod."""
        failure = Failed(decision.pod, profile.name, error(CANCELLED), is_reported=False)
        self._fail(queued, decision, profile, failure)

    def _fail_broken(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, cause: Exception) -> None:
        self._fail(queued, decision, profile, self._broken(decision, profile, cause))

    def _broken(self, decision: Scheduled, profile: Profile, cause: Exception) -> Failed:
        """Return the failure of an attempt after an internal error; raise the error again if there
        are no `internal_errors`."""
        if self._internal_errors is None:
            raise cause
        self._internal_errors.survived(BINDING, f"Pod {decision.pod.key}", cause)
        return Failed(decision.pod, profile.name, error(INTERNAL_ERROR.format(describe(cause))))

    def _activate(self, state: CycleState) -> None:
        if pods := take_pods_to_activate(state):
            self._queue.activate(pods)


def _as_failure(decision: Scheduled, profile: Profile, verdict: Status) -> Failure:
    """Return the failure of a pod that was not permitted."""
    if not verdict.is_rejected:
        return Failed(decision.pod, profile.name, verdict)
    diagnosis = commit.rejection(decision.pod, decision.node, verdict)
    return Unschedulable(decision.pod, profile.name, diagnosis, diagnosis.message(), CLEARED)


def _is_rejection(failure: Failure) -> bool:
    return isinstance(failure, Unschedulable) or failure.status.is_rejected
