"""A cluster behind HTTP: what operations create goes to an API server, and pods are seen as the scheduler sees them.

Implements `cluster.Cluster`. `api_server_host` makes it and feeds `Witness`, which stands before the scheduler's ingest.
Objects are sent as their templates have them, because the server wants fields that Steersman does not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.client import ApiError, Transport, decode_foreign, paths
from steersman.client.transport import MERGE_PATCH
from steersman.framework.watching import Ear
from steersman.perf.cluster import PodListener, T
from steersman.perf.templates import Draft

WORKERS: Final = 30
"""As upstream: so many requests at a time."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
_PROTECTED: Final = (api.PersistentVolume, api.PersistentVolumeClaim)
"""Kinds whose status the server forgets when they are created, and which it protects from being deleted in use."""


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class Witness:
    """Passes everything on to the scheduler's ear, and tells listeners what became of pods."""

    def __init__(self, ear: Ear, pods: Mapping[str, api.Pod]) -> None:
        """`pods` are those that the ear knows."""
        self._ear = ear
        self.pods = pods
        self._listeners: list[PodListener] = []

    def listen(self, listener: PodListener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def changed(self, obj: api.Object) -> None:
        old = self.pods.get(api.key(obj)) if isinstance(obj, api.Pod) else None
        self._ear.changed(obj)
        if isinstance(obj, api.Pod):
            self._tell(old, obj)

    def deleted(self, obj: api.Object) -> None:
        self._ear.deleted(obj)
        if isinstance(obj, api.Pod):
            self._tell(obj, None)

    def _tell(self, old: api.Pod | None, new: api.Pod | None) -> None:
        for listener in tuple(self._listeners):
            listener(old, new)


class ApiServerCluster:
    """Refusals are `client.ApiError`."""

    def __init__(self, transport: Transport, witness: Witness) -> None:
        self._transport = transport
        self._witness = witness
        #: What was created and not deleted, latest last.
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
        await self._send("PUT", paths.of(draft.object, "/".join(subresources)), body)
        if "status" in draft.document:
            await self._send("PUT", paths.of(draft.object, "status"), body)

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
        answer = await self._transport.request("GET", paths.collection(kind))
        items = decode_foreign(answer.body, _Items, f"the list of {kind.PLURAL}").items
        return [decode_foreign(item, kind, f"{kind.KIND} in the list") for item in items or ()]

    def pods(self) -> Mapping[str, api.Pod]:
        return self._witness.pods

    def listen(self, listener: PodListener) -> Callable[[], None]:
        return self._witness.listen(listener)

    async def clear(self) -> None:
        """Deletes what was created here and is still there, pods first. Namespaces stay: the next workload wants the same
        ones, and a namespace that goes lets nobody in."""
        await self._delete_all([created for created in self._created if created[0] is api.Pod], 0)
        rest = [created for created in self._created if created[0] is not api.Namespace]
        for kind, key in rest:
            if issubclass(kind, _PROTECTED):
                namespace, _, name = key.rpartition("/")
                await self._patch(kind, name, namespace, {"metadata": {"finalizers": None}})
        await self._delete_all(rest, 0)

    # -- inside ------------------------------------------------------------------------------------------------------

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
        """A server that taints new nodes expects a controller to look at them, of which there may be none."""
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
        return (await self._transport.request(method, path, body=data, content_type=content_type)).body


def overlaid(draft: Draft) -> dict[str, Any]:
    """The document of the template with all that was changed in the object since."""
    made: dict[str, Any] = _overlay(draft.document, codec.to_dict(draft.object))
    return made


def _overlay(below: Any, above: Any) -> Any:
    if isinstance(below, Mapping) and isinstance(above, dict):
        return {**below, **{name: _overlay(below.get(name), value) for name, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list) and len(below) == len(above):
        return [_overlay(one, other) for one, other in zip(below, above, strict=True)]
    return above
