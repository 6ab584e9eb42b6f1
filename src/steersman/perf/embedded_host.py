"""The embedded cluster in real time, with the whole scheduler assembly on it.

    operations ─► EmbeddedCluster ─► store ─► ingest ─► queue ─► cycle ─► binding ─► store, events
                                       └──────► listeners: what is measured

As in upstream's harness there are no kubelets: a bound pod stays as it is. Volumes are bound by whoever creates them, but for
claims that only the volume knows of.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import msgspec

from steersman import api
from steersman.api.persistent_volumes import BIND_COMPLETED, annotated
from steersman.assembly import SchedulerOptions
from steersman.clock import RealClock
from steersman.embedded import EventType, KubeAdmission, NotFound, Pods, Store, feed
from steersman.observe import MeasuredScheduler
from steersman.perf.cluster import Cluster, PodListener, T
from steersman.perf.fine_metrics import FineMetrics
from steersman.perf.scheduling_loop import BACKOFF_SECONDS, UNSCHEDULABLE_SECONDS, Tasks, every, schedule
from steersman.perf.store_events import SETTLE_SECONDS, StoreWriter
from steersman.rng import SeededRng
from steersman.state.allocator import keep_freed_memory

_replace = msgspec.structs.replace


@dataclass(frozen=True, slots=True)
class Host:
    """A cluster and the scheduler that works on it."""

    cluster: Cluster
    scheduler: MeasuredScheduler
    metrics: FineMetrics


@asynccontextmanager
async def embedded_host(options: SchedulerOptions, seed: int) -> AsyncIterator[Host]:
    """Empty at the beginning; everything ends with the block."""
    keep_freed_memory()
    clock = RealClock()
    store = Store(clock, admission=KubeAdmission())
    metrics, writer = FineMetrics(), StoreWriter(store, clock)
    async with asyncio.TaskGroup() as group:
        tasks = Tasks(group)
        scheduler = MeasuredScheduler(metrics, clock, SeededRng(seed), writer, tasks.spawn, options)
        feed(store, scheduler.ingest)
        store.subscribe(_ClaimBinder(store).on_volume, (api.PersistentVolume,))
        tasks.spawn(every(BACKOFF_SECONDS, scheduler.queue.flush_backoff))
        tasks.spawn(every(UNSCHEDULABLE_SECONDS, scheduler.queue.flush_unschedulable))
        tasks.spawn(every(SETTLE_SECONDS, writer.settle))
        tasks.spawn(schedule(scheduler))
        try:
            yield Host(EmbeddedCluster(store), scheduler, metrics)
        finally:
            tasks.cancel()


class EmbeddedCluster:
    """Implements `cluster.Cluster` on a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._pods = Pods(store)

    async def create(self, obj: T) -> T:
        return self.store.create(obj)

    async def update(self, obj: api.Object) -> None:
        store = self.store
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

    def has(self, kind: type[api.Object], key: str) -> bool:
        return self.store.find(kind, key) is not None

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
