# SPDX-License-Identifier: Apache-2.0
"""Benchmark host with the embedded cluster in real time and the whole scheduler assembly.

    operations ─► EmbeddedCluster ─► store ─► ingest ─► queue ─► cycle ─► EventWriter ─► store
                                       └──────► listeners: measurements

As in upstream's harness there are no kubelets, so bound pods do not change. Volumes are created
bound, except for claims that only their volume refers to. Device claims are created from templates.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Final, cast

import msgspec

from steersman import api
from steersman.api import BIND_COMPLETED, annotated
from steersman.base import Clock, RealClock, SeededRng, Timing
from steersman.cluster.controllers import ResourceClaimController
from steersman.cluster.store import (
    EventType,
    KubeAdmission,
    NotFound,
    Pods,
    Store,
    StoreReader,
    feed,
)
from steersman.kube.client import Event, EventSeriesBook, event_object
from steersman.kube.observe import AttemptMetrics
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.host import HostTasks, PodEvent, SchedulingLoop, keep_freed_memory
from steersman.simulation import EventWriter
from steersman.testing.bench.host import (
    SLICE,
    FineMetrics,
    Host,
    PodListener,
    T,
    every,
)
from steersman.testing.bench.templates import Draft

_replace = msgspec.structs.replace


@asynccontextmanager
async def embedded_host(options: SchedulerOptions, seed: int) -> AsyncIterator[Host]:
    """Yield a host with an empty embedded cluster, which ends with the block."""
    keep_freed_memory()
    clock = RealClock()
    store = Store(clock, admission=KubeAdmission())
    metrics, events = FineMetrics(), StoreEvents(store, clock)
    writer = EventWriter(store, events.write)
    async with asyncio.TaskGroup() as group:
        tasks = HostTasks(group)
        measured = msgspec.structs.replace(options, instruments=AttemptMetrics(metrics, clock))
        reader = StoreReader(store)
        scheduler = Scheduler(clock, SeededRng(seed), writer, tasks.create_task, measured, reader)
        reader.serve(scheduler.known_kinds)
        feed(store, scheduler.ingest, scheduler.watched_kinds)
        store.subscribe(_ClaimBinder(store).on_volume, (api.PersistentVolume,))
        ResourceClaimController(store, has_group_claims=options.gates.enabled("DRAWorkloadResourceClaims"))
        tasks.create_task(every(SETTLE_SECONDS, events.settle))
        tasks.create_task(SchedulingLoop(scheduler, Timing(clock), pods_at_a_time=SLICE).run())
        try:
            yield Host(EmbeddedCluster(store), scheduler, metrics)
        finally:
            tasks.cancel()


class EmbeddedCluster:
    """`host.BenchCluster` on a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._pods = Pods(store)

    async def create(self, draft: Draft) -> str:
        return api.key(self.store.create(draft.object))

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        """Create groups in slices, yielding to the scheduler in between."""
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
    """Return the status with the node's allocatable set to its capacity if missing."""
    if isinstance(status, api.NodeStatus) and not status.allocatable:
        return _replace(status, allocatable=status.capacity)
    return status


class _ClaimBinder:
    """Binds a claim to a volume made for it, like upstream's substitute for a controller."""

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

SETTLE_SECONDS: Final = 60.0


class StoreEvents:
    """Stores a scheduler's events as events.k8s.io/v1 objects, with repeated ones as series.

    Simulations do not store events; here they have the same cost as in a cluster.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._series = EventSeriesBook()
        self._numbers = count(1)

    def settle(self) -> None:
        """Store the counts of ended series; call it every `SETTLE_SECONDS`."""
        for event in self._series.settle(self._clock.monotonic()):
            self._store_event(event)

    def write(self, reported: PodEvent) -> None:
        # Each status that the store writes changes the pod's version, which would hide repetitions.
        regarding = _replace(api.reference_to(reported.pod), resource_version="")
        name = f"{regarding.name}.{next(self._numbers):x}"
        event = event_object(reported, regarding, name, reported.scheduler, self._clock.now())
        due = self._series.observe(event, self._clock.monotonic())
        if due is not None:
            self._store_event(due)

    def _store_event(self, event: Event) -> None:
        """Store an event; a series updates the stored event if that still exists."""
        stored = None if event.series is None else self._store.find(Event, api.key(event))
        if stored is None:
            self._store.create(event)
        else:
            self._store.rewrite(stored, _replace(stored, series=event.series))
