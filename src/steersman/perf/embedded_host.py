# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster in real time, with the whole scheduler assembly on it.

    operations ─► EmbeddedCluster ─► store ─► ingest ─► queue ─► cycle ─► StoreWriter ─► store, events
                                       └──────► listeners: what is measured

As in upstream's harness there are no kubelets: a bound pod stays as it is. Volumes are bound by whoever creates them, but for
claims that only the volume knows of. Claims for devices are made from templates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Final, cast

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.api.persistent_volumes import BIND_COMPLETED, annotated
from steersman.assembly import Failure, Scheduler, SchedulerOptions
from steersman.client import Timing
from steersman.client.events import Event, EventSeriesBook
from steersman.clock import Clock, RealClock
from steersman.embedded import (
    EventType,
    KubeAdmission,
    NotFound,
    Pods,
    ResourceClaimController,
    Store,
    StoreReader,
    feed,
)
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME, PodInfo
from steersman.host import SchedulingLoop, keep_freed_memory
from steersman.observe import AttemptMetrics
from steersman.perf.host import (
    SLICE,
    FineMetrics,
    Host,
    HostTasks,
    PodListener,
    T,
    every,
)
from steersman.perf.templates import Draft
from steersman.rng import SeededRng
from steersman.sim import EmbeddedWriter

_replace = msgspec.structs.replace


@asynccontextmanager
async def embedded_host(options: SchedulerOptions, seed: int) -> AsyncIterator[Host]:
    """A host with an empty embedded cluster; everything ends with the block."""
    keep_freed_memory()
    clock = RealClock()
    store = Store(clock, admission=KubeAdmission())
    metrics, writer = FineMetrics(), StoreWriter(store, clock)
    async with asyncio.TaskGroup() as group:
        tasks = HostTasks(group)
        measured = msgspec.structs.replace(options, instruments=AttemptMetrics(metrics, clock))
        reader = StoreReader(store)
        scheduler = Scheduler(clock, SeededRng(seed), writer, tasks.spawn, measured, reader)
        reader.serve(scheduler.known_kinds)
        feed(store, scheduler.ingest, scheduler.watched_kinds)
        store.subscribe(_ClaimBinder(store).on_volume, (api.PersistentVolume,))
        ResourceClaimController(store)
        tasks.spawn(every(SETTLE_SECONDS, writer.settle))
        tasks.spawn(SchedulingLoop(scheduler, Timing(clock), pods_at_a_time=SLICE).run())
        try:
            yield Host(EmbeddedCluster(store), scheduler, metrics)
        finally:
            tasks.cancel()


class EmbeddedCluster:
    """Implements `host.BenchCluster` on a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._pods = Pods(store)

    async def create(self, draft: Draft) -> str:
        return api.key(self.store.create(draft.object))

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        """Creates a slice of groups at a time, so that the scheduler works meanwhile."""
        create = self.store.create
        for number, group in enumerate(groups, start=1):
            for draft in group:
                create(draft.object)
            if number % SLICE == 0:
                await asyncio.sleep(0)

    async def provide_namespace(self, namespace: api.Namespace) -> None:
        if self.store.find(api.Namespace, namespace.metadata.name) is None:
            self.store.create(namespace)

    async def update(self, draft: Draft, subresources: Sequence[str] = ()) -> None:
        store, obj = self.store, draft.object
        old = store.get(type(obj), api.key(obj))
        if isinstance(obj, api.Pod) and isinstance(old, api.Pod) and not obj.spec.node_name:
            obj = _replace(obj, spec=_replace(obj.spec, node_name=old.spec.node_name))
        store.update(obj)
        status = getattr(obj, "status", None)
        if status is not None and status != type(status)():
            current = store.get(type(obj), api.key(obj))
            store.replace(_replace(current, status=_completed(status)))

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        try:
            if kind is api.Pod:
                self._pods.delete(key, grace_period_seconds=grace_period_seconds)
            else:
                self.store.delete(kind, key)
        except NotFound:
            return

    async def delete_pods(self, keys: Iterable[str], *, grace_period_seconds: int | None = None) -> None:
        for key in keys:
            await self.delete(api.Pod, key, grace_period_seconds=grace_period_seconds)

    async def list(self, kind: type[T]) -> Sequence[T]:
        return list(self.store.objects(kind).values())

    def pods(self) -> Mapping[str, api.Pod]:
        return self.store.objects(api.Pod)

    def listen(self, listener: PodListener) -> Callable[[], None]:
        is_live = False

        def tell(_: EventType, old: api.Object | None, new: api.Object | None) -> None:
            if is_live:
                listener(cast("api.Pod | None", old), cast("api.Pod | None", new))

        subscription = self.store.subscribe(tell, (api.Pod,))
        is_live = True
        return subscription.cancel


def _completed(status: object) -> object:
    """A node whose new status names no allocatable amounts offers its capacity, as when it was created."""
    if isinstance(status, api.NodeStatus) and not status.allocatable:
        return _replace(status, allocatable=status.capacity)
    return status


class _ClaimBinder:
    """Binds a claim to a volume that was made for it, which is all that upstream's stand-in for a controller does."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def on_volume(self, _: EventType, __: api.Object | None, new: api.Object | None) -> None:
        if not isinstance(new, api.PersistentVolume) or new.spec.claim_ref is None:
            return
        reference = new.spec.claim_ref
        claim = self._store.find(api.PersistentVolumeClaim, f"{reference.namespace}/{reference.name}")
        if claim is not None and not claim.spec.volume_name:
            bound = _replace(claim, spec=_replace(claim.spec, volume_name=new.metadata.name))
            self._store.rewrite(claim, annotated(bound, BIND_COMPLETED, "yes"))


# -- writes and events -------------------------------------------------------------------------------------------------

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
SETTLE_SECONDS: Final = 60.0


class StoreWriter(EmbeddedWriter):
    """The scheduler's writer of the embedded cluster that also stores events, as the client of an API server sends them.

    Implements `assembly.ApiWriter`. A simulation keeps its events aside; here they cost what they cost in a cluster: an
    object of events.k8s.io/v1 per binding, equal ones counted as series.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._series = EventSeriesBook()
        self._numbers = count(1)

    def report_scheduled(self, pod: PodInfo, node_name: str) -> None:
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._write(pod.pod, pod.scheduler_name, NORMAL, "Scheduled", "Binding", note)

    def report_failure(self, failure: Failure) -> None:
        pod, nomination = failure.pod, failure.nomination
        self._write(pod, _scheduler_of(pod), WARNING, "FailedScheduling", "Scheduling", failure.message)
        condition = api.Condition(type="PodScheduled", status="False", reason=failure.reason, message=failure.message)
        self._patch(pod, condition, None if nomination is None else nomination.node)

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        self._write(victim, _scheduler_of(preemptor), NORMAL, "Preempted", "Preempting", message)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self._write(pod, _scheduler_of(pod), WARNING if is_warning else NORMAL, reason, "Scheduling", note)

    def settle(self) -> None:
        """Stores the counts of series that have ended; to be called every `SETTLE_SECONDS`."""
        for event in self._series.settle(self._clock.monotonic()):
            self._store_event(event)

    def _write(
        self,
        regarding: api.Pod,
        controller: str,
        type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        meta = regarding.metadata
        event = Event(
            metadata=api.ObjectMeta(name=f"{meta.name}.{next(self._numbers):x}", namespace=meta.namespace),
            event_time=timestamps.render_micro(self._clock.now()),
            reporting_controller=controller,
            reporting_instance=controller,
            action=action,
            reason=reason,
            regarding=_reference(regarding),
            note=note,
            type=type,
        )
        due = self._series.observe(event, self._clock.monotonic())
        if due is not None:
            self._store_event(due)

    def _store_event(self, event: Event) -> None:
        """Stores an event; a series goes to the event that was stored before, unless that is gone."""
        stored = None if event.series is None else self._store.find(Event, api.key(event))
        if stored is None:
            self._store.create(event)
        else:
            self._store.rewrite(stored, _replace(stored, series=event.series))


def _scheduler_of(pod: api.Pod) -> str:
    return pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME


def _reference(pod: api.Pod) -> api.ObjectReference:
    meta = pod.metadata
    return api.ObjectReference(
        kind=pod.KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid, api_version=pod.API_VERSION
    )
