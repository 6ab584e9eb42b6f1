# SPDX-License-Identifier: Apache-2.0
"""A handle for the plugin alone: listers over the objects given, and a writer that remembers what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.base.rng import Rng, SeededRng
from steersman.config import DynamicResourcesArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.plugins.dynamic_resources import DynamicResources
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import Builder


class RememberingWriter:
    """Implements `ResourceClaimWriter`; `fails` makes it refuse."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self.fails = False
        self.deleted: list[str] = []
        self.told: list[api.PodExtendedResourceClaimStatus] = []
        self._version = 100

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        if self.fails:
            raise RuntimeError("the server is on strike")
        return self._written(change(self._store.get(api.ResourceClaim, api.key(claim)) or claim))

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        if self.fails:
            raise RuntimeError("the server is on strike")
        meta = msgspec.structs.replace(claim.metadata, name=f"{claim.metadata.generate_name}x", uid="created")
        return self._written(msgspec.structs.replace(claim, metadata=meta))

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        self.deleted.append(claim.metadata.name)
        self._store.remove(claim)

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        self.told.append(status)

    def _written(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        self._version += 1
        meta = msgspec.structs.replace(claim.metadata, resource_version=str(self._version))
        written = msgspec.structs.replace(claim, metadata=meta)
        self._store.put(written)
        return written


class EventRecorder:
    """Implements `PodReporter`; the plugin does not look at other pods."""

    def __init__(self) -> None:
        #: Pod, reason and note of each event.
        self.events: list[tuple[str, str, str]] = []

    def get(self, key: str) -> api.Pod | None:
        raise AssertionError(key)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        assert not is_warning
        self.events.append((pod.metadata.name, reason, note))


class DevicesFakeHandle(FakeHandle):
    """Implements `DevicesHandle`."""

    def __init__(
        self, *objects: api.Object, nodes: Sequence[NodeInfo] = (), gates: dict[str, bool] | None = None
    ) -> None:
        super().__init__(nodes=nodes, gates=gates)
        self.store = ObjectStore()
        for obj in objects:
            self.store.put(obj)
        self.objects = self.store
        self.rng: Rng = SeededRng(0)
        self.resource_claims = RememberingWriter(self.store)
        self.postpones = False
        self.slept: list[float] = []
        self.pods = EventRecorder()
        #: Called in every pause.
        self.while_sleeping: Callable[[], None] = lambda: None

    @property
    def volumes(self) -> Any:
        raise AssertionError("the plugin does not write volumes")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(work)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)  # type: ignore[attr-defined]
        self.while_sleeping()


class OnePlugin:
    """The plugin on some objects and nodes, asked about one pod after the other."""

    def __init__(
        self, *objects: Builder[Any], nodes: Sequence[NodeInfo] = (), gates: dict[str, bool] | None = None
    ) -> None:
        self.handle = DevicesFakeHandle(*(one.obj() for one in objects), nodes=nodes, gates=gates)
        self.plugin = DynamicResources(DynamicResourcesArgs(), self.handle)
        self.state = CycleState()

    def pre_filter(self, pod: PodInfo) -> Status | None:
        self.state = CycleState()
        return self.plugin.pre_filter(self.state, pod, ())

    def reasons(self, pod: PodInfo) -> dict[str, str]:
        """What Filter says of each node; "" for those that fit."""
        assert self.pre_filter(pod) is None
        answers = {node.name: self.plugin.filter(self.state, pod, node) for node in self.handle.nodes.all()}
        return {name: "" if status is None else status.message for name, status in answers.items()}

    def take(self, pod: PodInfo, node: str) -> Status | None:
        """PreFilter, Filter and Reserve."""
        self.reasons(pod)
        return self.plugin.reserve(self.state, pod, node)

    def bind(self, pod: PodInfo, node: str) -> Status | None:
        return asyncio.run(self.plugin.pre_bind(self.state, pod, node))

    def place(self, pod: PodInfo, node: str) -> None:
        assert self.take(pod, node) is None
        assert self.bind(pod, node) is None

    def claim(self, name: str) -> api.ResourceClaim:
        found = self.handle.store.get(api.ResourceClaim, f"default/{name}")
        assert found is not None
        return found

    def devices(self, name: str) -> list[str]:
        allocation = self.claim(name).status.allocation
        return [] if allocation is None else [result.device for result in allocation.devices.results]
