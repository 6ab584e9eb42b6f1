# SPDX-License-Identifier: Apache-2.0
"""A scheduler on the embedded cluster whose binding cycles wait wherever they can, in virtual time.

Every place at which a binding cycle may be suspended is a `Point`. A test says what is to happen when a pod gets there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import count
from typing import Any, ClassVar

import msgspec

from steersman import api, config
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.cluster.store import Conflict, NotFound, Pods, StatusError, Store, feed
from steersman.config import FeatureGates, SchedulerConfiguration
from steersman.framework import (
    Code,
    Failure,
    PermitHandle,
    PermitPlugin,
    PermitResult,
    PreBindPlugin,
    ReservePlugin,
    Status,
)
from steersman.framework.extender import Extender
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import error
from steersman.scheduler.assembly import Scheduler, SchedulerOptions, default_registry
from steersman.scheduler.assembly.registry import with_enabled
from steersman.simulation.virtual_time.tasks import Tasks
from steersman.testing import make_node, make_pod

STEP_SECONDS = 1.0


class Point(StrEnum):
    """Where a binding cycle can be suspended, in the order of time."""

    NOMINATING = "nominating"
    WAITING = "waiting for permission"
    FIRST_PRE_BIND = "first PreBind"
    SECOND_PRE_BIND = "second PreBind"
    BINDING = "binding"
    BOUND = "bound, not yet answered"


#: Called when a pod gets to a point, before the second that it takes to go on.
OnPoint = Callable[[Point, PodInfo], None]


class Cluster:
    """Two nodes with room for all pods; `on_point` is the test's. At every point a pod spends `step_seconds`."""

    #: Closed at the end of every test.
    opened: ClassVar[list[Cluster]] = []

    def __init__(
        self, on_point: OnPoint = lambda point, pod: None, step_seconds: float = STEP_SECONDS, **options: Any
    ) -> None:
        self.opened.append(self)
        self._step_seconds = step_seconds
        self.clock = ManualClock()
        self.store = Store(self.clock)
        self.on_point = on_point
        self.tasks = Tasks(self.clock)
        self.writer = PatientWriter(self)
        self.permit: GatePlugin | None = None
        self.reserved: set[str] = set()
        #: PodGroup of new pods.
        self.group = ""
        self._serials = count(1)
        self.scheduler = self._scheduler(**options)
        feed(self.store, self.scheduler.ingest, self.scheduler.watched_kinds)
        for name in ("n1", "n2"):
            self.store.create(make_node(name).capacity(cpu="8", memory="8Gi", pods=60).obj())

    def _scheduler(
        self,
        plugins: Iterable[type] = (),
        extenders: Iterable[Extender] = (),
        configuration: SchedulerConfiguration | None = None,
        gates: FeatureGates | None = None,
    ) -> Scheduler:
        registry = default_registry()
        plugins = tuple(plugins) or (KeepCount, GatePlugin, FirstPreBind, SecondPreBind)
        for plugin in plugins:
            registry.add(plugin.name, plugin, "test")  # type: ignore[attr-defined]
            plugin.cluster = self  # type: ignore[attr-defined]
        names = [plugin.name for plugin in plugins]  # type: ignore[attr-defined]
        gates = gates or FeatureGates()
        enabled = with_enabled(configuration or config.default_configuration(gates), names)
        given = SchedulerOptions(configuration=enabled, gates=gates, registry=registry)
        return Scheduler(self.clock, SeededRng(1), self.writer, self.tasks.spawn, given)

    # -- what tests do -----------------------------------------------------------------------------------------------

    def create_pod(self, name: str, cpu: str = "1") -> api.Pod:
        """A new pod, even if there was one of that name before."""
        builder = make_pod(name).req(cpu=cpu)
        pod = (builder.in_group(self.group) if self.group else builder).obj()
        metadata = msgspec.structs.replace(pod.metadata, uid=f"{name}-{next(self._serials)}")
        return self.store.create(msgspec.structs.replace(pod, metadata=metadata))

    def pod(self, name: str) -> api.Pod | None:
        return self.store.find(api.Pod, f"default/{name}")

    def node_of(self, name: str) -> str:
        pod = self.pod(name)
        assert pod is not None
        return pod.spec.node_name

    def decide(self) -> None:
        """Schedules whatever can be popped, and lets tasks go as far as they can now."""
        while self.scheduler.schedule_one() is not None:
            self.tasks.run_ready()
        self.tasks.run_ready()

    def advance(self, seconds: float) -> None:
        """Lets time pass, in the steps in which something happens."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            self.decide()
            wakeup = self.scheduler.queue.next_wakeup()
            limit = end if wakeup is None else max(min(wakeup, end), self.clock.monotonic() + 1e-3)
            if self.tasks:
                self.tasks.advance(limit)
            else:
                self.clock.set(limit)
            self.scheduler.queue.flush_backoff()
            self.scheduler.queue.flush_unschedulable()
        self.decide()

    def settle(self) -> None:
        """Lets enough time pass for every wait, backoff and retry to end."""
        self.advance(1800.0)

    # -- what plugins and the writer do ------------------------------------------------------------------------------

    async def pass_point(self, point: Point, pod: PodInfo) -> None:
        self.on_point(point, pod)
        await asyncio.sleep(self._step_seconds)


class PatientWriter:
    """Writes to the embedded cluster, and takes its time."""

    def __init__(self, cluster: Cluster) -> None:
        self.binds_at_once = False
        self._cluster = cluster
        self._pods = Pods(cluster.store)
        #: What every binding is answered with, if there is anything to refuse.
        self.refusal: Status | None = None
        self.failures: list[Failure] = []
        #: UIDs of pods that the cluster accepted a binding of, and of those that the scheduler knows of.
        self.bound: list[str] = []
        self.scheduled: list[str] = []
        self.nominations: list[tuple[str, str]] = []
        #: Names of groups with the status of their condition PodGroupInitiallyScheduled.
        self.group_conditions: list[tuple[str, str]] = []

    def bind_nowait(self, pod: PodInfo, node_name: str) -> Status | None:
        meta = pod.pod.metadata
        if self.refusal is not None:
            return self.refusal
        try:
            self._pods.bind(meta.namespace, meta.name, meta.uid, node_name)
        except StatusError as refusal:
            return error(refusal.message)
        self.bound.append(meta.uid)
        return None

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        await self._cluster.pass_point(Point.BINDING, pod)
        status = self.bind_nowait(pod, node_name)
        if status is None:
            await self._cluster.pass_point(Point.BOUND, pod)
        return status

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        info = self._cluster.scheduler.cache.shapes.info(pod)
        await self._cluster.pass_point(Point.NOMINATING, info)
        if nominated_node_name is not None:
            self.nominations.append((info.key, nominated_node_name))
        return self._patch(pod, condition, nominated_node_name)

    def _patch(self, pod: api.Pod, condition: api.Condition | None, nominated_node_name: str | None) -> bool:
        try:
            self._pods.patch_status(
                api.key(pod), condition=condition, nominated_node_name=nominated_node_name, uid=pod.metadata.uid
            )
        except (NotFound, Conflict):
            return False
        return True

    async def delete_pod(self, pod: api.Pod) -> bool:
        self._pods.delete(api.key(pod), grace_period_seconds=None, uid=pod.metadata.uid)
        return True

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        """Nobody reads events here."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Nobody reads events here."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return self._cluster.store.update(volume)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return self._cluster.store.update(claim)

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        return self._cluster.store.replace(change(self._cluster.store.get(api.ResourceClaim, api.key(claim))))

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return self._cluster.store.create(claim)

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        self._cluster.store.delete(api.ResourceClaim, api.key(claim))

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """Nobody looks at it here."""

    def report_failure(self, failure: Failure) -> None:
        self.failures.append(failure)
        nominated = None if failure.nomination is None else failure.nomination.node
        self._patch(failure.pod, None, nominated)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        self.scheduled.append(pod.uid)

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        self.group_conditions.append((group.metadata.name, condition.status))


class ClusterPlugin:
    """What the plugins below share."""

    cluster: Cluster


class KeepCount(ClusterPlugin, ReservePlugin):
    """Reserve and Unreserve must keep in step with where pods are."""

    name = "KeepCount"

    def reserve(self, pod: PodInfo, node_name: str) -> None:
        self.cluster.reserved.add(pod.uid)

    def unreserve(self, pod: PodInfo, node_name: str) -> None:
        self.cluster.reserved.discard(pod.uid)


class GatePlugin(ClusterPlugin, PermitPlugin):
    """Lets every pod wait, and allows it after a second unless the test does something else."""

    name = "Gate"

    def __init__(self, args: object, handle: PermitHandle) -> None:
        self.handle = handle
        self.allows = True
        self.cluster.permit = self

    def permit(self, pod: PodInfo, node_name: str) -> PermitResult:
        self.cluster.tasks.spawn(self._watch(pod))
        return PermitResult(Status(Code.WAIT), 10.0)

    async def _watch(self, pod: PodInfo) -> None:
        await asyncio.sleep(STEP_SECONDS)
        try:
            self.cluster.on_point(Point.WAITING, pod)
        except Exception as refusal:
            waiting = self.handle.pods.waiting(pod.uid)
            if waiting is not None:
                waiting.reject(self.name, str(refusal))
        await asyncio.sleep(STEP_SECONDS)
        waiting = self.handle.pods.waiting(pod.uid)
        if waiting is not None and self.allows:
            waiting.allow(self.name)


class FirstPreBind(ClusterPlugin, PreBindPlugin):
    name = "FirstPreBind"
    point = Point.FIRST_PRE_BIND

    async def pre_bind(self, pod: PodInfo, node_name: str) -> None:
        await self.cluster.pass_point(self.point, pod)


class SecondPreBind(FirstPreBind):
    name = "SecondPreBind"
    point = Point.SECOND_PRE_BIND
