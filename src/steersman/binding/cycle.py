"""The binding cycle of one pod.

    Scheduled ─► WaitOnPermit ─► PreBind ─► Bind ─► PostBind
                      └────────────┴─────────┴─► Unreserve, forget, wake others, requeue

The next scheduling cycle does not wait for it. Where nothing has to be waited for (no permission, no PreBind work, a
writer that binds at once) the whole of it runs without a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from steersman.cycle import commit
from steersman.cycle.decision import CLEARED, Failed, Scheduled, Unschedulable
from steersman.framework.events import ASSIGNED_POD_DELETE
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status, is_skip
from steersman.queue import QueuedPodInfo, SchedulingQueue
from steersman.runtime.faults import fault
from steersman.runtime.profile import Profile, RawCall
from steersman.runtime.waiting_pods import WaitingPod, WaitingPods
from steersman.state.cache import Cache

OnFailure = Callable[[QueuedPodInfo, Unschedulable | Failed], None]
Spawn = Callable[[Coroutine[Any, Any, None]], object]

class Writer(Protocol):
    """The part of `assembly.ApiWriter` that binding needs."""

    @property
    def binds_at_once(self) -> bool: ...

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None: ...

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None: ...


class BindingCycle:
    """Starts binding cycles and sees each to its end."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        waiting_pods: WaitingPods,
        writer: Writer,
        on_failure: OnFailure,
        spawn: Spawn,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._waiting_pods = waiting_pods
        self._writer = writer
        self._on_failure = on_failure
        self._spawn = spawn

    def start(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        if decision.waits:
            self._waiting_pods.add(WaitingPod(decision.pod, decision.node, decision.waits))
        elif self._writer.binds_at_once and profile.binds_by_default and not _has_pre_bind_work(decision, profile):
            self._bind_now(queued, decision, profile)
            return
        self._spawn(self._run(queued, decision, profile))

    def _bind_now(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        self._queue.done(queued.uid)
        status = self._writer.bind_nowait(decision.pod, decision.node)
        self._end(queued, decision, profile, status)

    async def _run(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile) -> None:
        status = await self._wait_on_permit(decision) if decision.waits else None
        if status is None:
            self._queue.done(queued.uid)
            status = await self._pre_bind(decision, profile)
        if status is None:
            status = await self._bind(decision, profile)
        self._end(queued, decision, profile, status)

    # -- phases ------------------------------------------------------------------------------------------------------

    async def _wait_on_permit(self, decision: Scheduled) -> Status | None:
        pod = decision.pod
        waiting = self._waiting_pods.get(pod.uid)
        assert waiting is not None, f"{pod.key} waits for permission but is not among the waiting pods"
        try:
            verdict = await _verdict(waiting)
        finally:
            self._waiting_pods.remove(pod.uid)
        if verdict.code is Code.SUCCESS:
            return None
        text = f'pod "{pod.name}" rejected while waiting on permit: {verdict.message}'
        return Status(verdict.code, (text,), verdict.plugin)

    async def _pre_bind(self, decision: Scheduled, profile: Profile) -> Status | None:
        for call in profile.pre_bind:
            if is_skip(_pre_flight(call, decision)):
                continue
            status = await _await_status("PreBind", call, decision)
            if status is not None:
                return fault("PreBind", call.name, status.message)
        return None

    async def _bind(self, decision: Scheduled, profile: Profile) -> Status | None:
        for call in profile.bind:
            status = await _await_status("Bind", call, decision)
            if is_skip(status):
                continue
            return None if status is None else fault("Bind", call.name, status.message)
        return fault("Bind", "", "every bind plugin left the pod to another one")

    # -- the end -----------------------------------------------------------------------------------------------------

    def _end(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, status: Status | None) -> None:
        if status is not None:
            self._fail(queued, decision, profile, status)
            return
        self._cache.finish_binding(decision.pod)
        self._writer.report_scheduled(decision.pod, decision.node)
        for call in profile.post_bind:
            call.run(decision.state, decision.pod, decision.node)

    def _fail(self, queued: QueuedPodInfo, decision: Scheduled, profile: Profile, status: Status) -> None:
        """The pod goes back to the queue; the room it had is announced to the others first, unless the refusal came
        from a plugin, whose own event must not bring the pod itself back at once."""
        pod, node = decision.pod, decision.node
        commit.unreserve(profile, decision.state, pod, node)
        released = self._cache.is_assumed(pod.uid)
        if released:
            self._cache.forget(pod)
        if status.is_rejected:
            diagnosis = commit.rejection(pod, node, status)
            self._on_failure(queued, Unschedulable(pod, profile.name, diagnosis, diagnosis.message(), CLEARED))
            if released:
                self._queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None, lambda other: other.metadata.uid != pod.uid)
            return
        if released:
            self._queue.move_all(ASSIGNED_POD_DELETE, pod.pod, None)
        self._on_failure(queued, Failed(pod, profile.name, status))


async def _verdict(waiting: WaitingPod) -> Status:
    """The verdict, or a rejection by the first plugin whose time is over."""
    arrived = asyncio.Event()
    waiting.on_verdict(arrived.set)
    plugin, seconds = min(waiting.pending.items(), key=lambda item: item[1])
    try:
        async with asyncio.timeout(seconds):
            await arrived.wait()
    except TimeoutError:
        waiting.reject(plugin, f"rejected due to timeout after waiting {seconds:g}s at plugin {plugin}")
    assert waiting.verdict is not None
    return waiting.verdict


def _has_pre_bind_work(decision: Scheduled, profile: Profile) -> bool:
    return any(not is_skip(_pre_flight(call, decision)) for call in profile.pre_bind)


def _pre_flight(call: RawCall, decision: Scheduled) -> Status | None:
    """Whether the plugin has anything to do; a plugin that does not say is asked."""
    function = getattr(call.plugin, "pre_bind_pre_flight", None)
    if function is None:
        return None
    try:
        answer = function(decision.state, decision.pod, decision.node)
    except Exception as cause:
        return fault("PreBindPreFlight", call.name, cause)
    return answer if isinstance(answer, Status) else None


async def _await_status(point: str, call: RawCall, decision: Scheduled) -> Status | None:
    """Plugins may be coroutines or plain functions."""
    try:
        answer = call.run(decision.state, decision.pod, decision.node)
        if asyncio.iscoroutine(answer):
            answer = await answer
    except Exception as cause:
        return fault(point, call.name, cause)
    if answer is None or answer is True:
        return None
    if isinstance(answer, Status):
        return None if answer.code is Code.SUCCESS else answer.of(call.name)
    return fault(point, call.name, f"answered {answer!r}, expected None or a Status")
