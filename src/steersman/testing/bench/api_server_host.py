# SPDX-License-Identifier: Apache-2.0
"""Benchmark host on a real API server, with the scheduler connected as by `steersman run`.

    operations ─► ApiServerCluster ─HTTP─► API server ─watch─► PodWatcher ─► ingest ─► queue ─► cycle ─► Dispatcher ─HTTP─► …

No other scheduler may be responsible for the pods. Objects of the workload, except namespaces, are
deleted at the end. The server gets templates as they are, with fields unknown to Steersman.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import SeededRng, Timing
from steersman.framework import EventSink
from steersman.kube.client import (
    MERGE_PATCH,
    ApiError,
    ApiServerReader,
    Connection,
    Dispatcher,
    EventRecorder,
    Informers,
    Request,
    Transport,
    decode_foreign,
    http_transport,
    paths,
)
from steersman.kube.observe import AttemptMetrics
from steersman.scheduler.assembly import Scheduler, SchedulerOptions
from steersman.scheduler.host import HostTasks, SchedulingLoop, keep_freed_memory
from steersman.testing.bench.host import SLICE, FineMetrics, Host, PodListener, T
from steersman.testing.bench.templates import Draft


@asynccontextmanager
async def api_server_host(options: SchedulerOptions, seed: int, connection: Connection) -> AsyncIterator[Host]:
    """Yield a host on an API server once the scheduler's informers have synced."""
    keep_freed_memory()
    timing, metrics = Timing(), FineMetrics()
    async with (
        http_transport(connection) as own,
        http_transport(connection) as objects,
        http_transport(connection) as events,
        asyncio.TaskGroup() as group,
    ):
        tasks = HostTasks(group)
        dispatcher = Dispatcher(objects, EventRecorder(events, timing, socket.gethostname()), timing)
        measured = msgspec.structs.replace(options, instruments=AttemptMetrics(metrics, timing.clock))
        reader = ApiServerReader(objects, timing)
        scheduler = Scheduler(timing.clock, SeededRng(seed), dispatcher, tasks.create_task, measured, reader)
        watcher = PodWatcher(scheduler.ingest, scheduler.pods)
        informers = Informers(objects, watcher, timing)
        cluster = ApiServerCluster(own, watcher)
        tasks.create_task(dispatcher.run())
        tasks.create_task(informers.run())
        try:
            await informers.wait_synced()
            tasks.create_task(SchedulingLoop(scheduler, timing, pods_at_a_time=SLICE).run())
            yield Host(cluster, scheduler, metrics)
        finally:
            tasks.cancel()
            await cluster.clear()


WORKERS: Final = 30
"""Number of concurrent requests, as upstream."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
_PROTECTED: Final = (api.PersistentVolume, api.PersistentVolumeClaim)
"""Kinds whose status the server drops on creation, and which it protects while in use."""


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class PodWatcher:
    """Event sink that passes events on to the scheduler and notifies pod listeners."""

    def __init__(self, sink: EventSink, pods: Mapping[str, api.Pod]) -> None:
        """Wrap `sink`; `pods` are the pods that the scheduler knows."""
        self._sink = sink
        self.pods = pods
        self._listeners: list[PodListener] = []

    def listen(self, listener: PodListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def expect(self, kind: type[api.Object], count: int) -> None:
        self._sink.expect(kind, count)

    def changed(self, obj: api.Object) -> None:
        old = self.pods.get(api.key(obj)) if isinstance(obj, api.Pod) else None
        self._sink.changed(obj)
        if isinstance(obj, api.Pod):
            self._notify(old, obj)

    def deleted(self, obj: api.Object) -> None:
        self._sink.deleted(obj)
        if isinstance(obj, api.Pod):
            self._notify(obj, None)

    def _notify(self, old: api.Pod | None, new: api.Pod | None) -> None:
        for listener in tuple(self._listeners):
            listener(old, new)


class ApiServerCluster:
    """`host.BenchCluster` on an API server. Refusals are raised as `client.ApiError`."""

    def __init__(self, transport: Transport, watcher: PodWatcher) -> None:
        self._transport = transport
        self._watcher = watcher
        #: Created and not yet deleted objects, latest last.
        self._created: dict[tuple[type[api.Object], str], None] = {}

    async def create(self, draft: Draft) -> str:
        obj = draft.object
        meta = obj.metadata
        path = paths.collection(type(obj), meta.namespace if obj.NAMESPACED else "")
        stored = decode_foreign(
            await self._send("POST", path, overlaid(draft)), type(obj), f"the answer to POST {path}"
        )
        key = api.key(stored)
        self._created[type(obj), key] = None
        if isinstance(stored, api.Node):
            await self._make_ready(stored)
        elif isinstance(obj, _PROTECTED):
            patch = {"status": codec.to_dict(obj)["status"]}
            await self._patch(type(obj), stored.metadata.name, stored.metadata.namespace, patch, "status")
        return key

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        waiting = iter(groups)
        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(self._create_some(waiting))

    async def provide_namespace(self, namespace: api.Namespace) -> None:
        try:
            await self.create(Draft(namespace))
        except ApiError as refusal:
            if not refusal.already_exists:
                raise

    async def update(self, draft: Draft, subresources: Sequence[str] = ()) -> None:
        body = overlaid(draft)
        await self._send("PUT", paths.object_path(draft.object, "/".join(subresources)), body)
        if "status" in draft.document:
            await self._send("PUT", paths.object_path(draft.object, "status"), body)

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        self._created.pop((kind, key), None)
        namespace, _, name = key.rpartition("/")
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        try:
            await self._send("DELETE", paths.item(kind, name, namespace), options)
        except ApiError as refusal:
            if not refusal.is_not_found:
                raise

    async def delete_pods(self, keys: Iterable[str], *, grace_period_seconds: int | None = None) -> None:
        await self._delete_all([(api.Pod, key) for key in keys], grace_period_seconds)

    async def list(self, kind: type[T]) -> Sequence[T]:
        answer = await self._transport.request(Request("GET", paths.collection(kind)))
        items = decode_foreign(answer.body, _Items, f"the list of {kind.PLURAL}").items
        return [decode_foreign(item, kind, f"{kind.KIND} in the list") for item in items or ()]

    def pods(self) -> Mapping[str, api.Pod]:
        return self._watcher.pods

    def listen(self, listener: PodListener) -> Callable[[], None]:
        return self._watcher.listen(listener)

    async def clear(self) -> None:
        """Delete the remaining objects created here, pods first. Namespaces stay: the next workload
        uses the same ones, and a terminating namespace admits no objects."""
        await self._delete_all([created for created in self._created if created[0] is api.Pod], 0)
        rest = [created for created in self._created if created[0] is not api.Namespace]
        for kind, key in rest:
            if issubclass(kind, _PROTECTED):
                namespace, _, name = key.rpartition("/")
                await self._patch(kind, name, namespace, {"metadata": {"finalizers": None}})
        await self._delete_all(rest, 0)

    # -- internals ---------------------------------------------------------------------------------------------------

    async def _create_some(self, waiting: Iterator[Sequence[Draft]]) -> None:
        for group in waiting:
            for draft in group:
                await self.create(draft)

    async def _delete_all(
        self, doomed: Iterable[tuple[type[api.Object], str]], grace_period_seconds: int | None
    ) -> None:
        waiting = iter(doomed)

        async def delete_some() -> None:
            for kind, key in waiting:
                await self.delete(kind, key, grace_period_seconds=grace_period_seconds)

        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(delete_some())

    async def _make_ready(self, node: api.Node) -> None:
        """Remove the not-ready taint of a new node, as there may be no controller to do it."""
        if any(taint.key == NOT_READY for taint in node.spec.taints):
            kept = [msgspec.to_builtins(taint) for taint in node.spec.taints if taint.key != NOT_READY]
            await self._patch(api.Node, node.metadata.name, "", {"spec": {"taints": kept or None}})

    async def _patch(
        self, kind: type[api.Object], name: str, namespace: str, patch: dict[str, Any], subresource: str = ""
    ) -> None:
        await self._send("PATCH", paths.item(kind, name, namespace, subresource), patch, MERGE_PATCH)

    async def _send(
        self, method: str, path: str, body: dict[str, Any], content_type: str = "application/json"
    ) -> bytes:
        data = msgspec.json.encode(body)
        return (await self._transport.request(Request(method, path, body=data, content_type=content_type))).body


def overlaid(draft: Draft) -> dict[str, Any]:
    """Return the draft's template document with the changes of its object since."""
    made: dict[str, Any] = _overlay(draft.document, codec.to_dict(draft.object))
    return made


def _overlay(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, dict):
        return {**below, **{name: _overlay(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list) and len(below) == len(above):
        return [_overlay(one, other) for one, other in zip(below, above, strict=True)]
    return above
