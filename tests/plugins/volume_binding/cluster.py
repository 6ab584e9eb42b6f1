# SPDX-License-Identifier: Apache-2.0
"""A cluster for VolumeBinding: objects that a watch may change, written through a handle that remembers what was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from tests.plugins.handles import FakeGates, FakeHandle, FakeNodes

from steersman import api
from steersman.config import VolumeBindingArgs
from steersman.framework.cycle_state import CycleState
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.scheduler.plugins.volume_binding import VOLUMES_STATE_KEY, CycleVolumes, PodVolumes, VolumeBinding
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import Builder, NodeBuilder, PodBuilder

T = TypeVar("T", api.PersistentVolume, api.PersistentVolumeClaim)


class KnownPods:
    """Implements `framework.handle.PodLister`."""

    def __init__(self) -> None:
        self.pods: dict[str, api.Pod] = {}

    def get(self, key: str) -> api.Pod | None:
        return self.pods.get(key)


class Refused(Exception):
    """What the API server says to a write."""


class VolumeHandle(FakeHandle):
    """Implements `framework.handle.PreBindHandle`. Writes get the next version and are seen by the watch at once."""

    def __init__(self, store: ObjectStore, nodes: Iterable[NodeBuilder], gates: dict[str, bool]) -> None:
        super().__init__()
        self._store = store
        self.objects = store
        self.nodes = FakeNodes([node.info() for node in nodes])
        self.gates = FakeGates(gates)
        self.pods = KnownPods()
        self.volumes = self
        self.written: list[str] = []
        self.slept = 0.0
        #: Names of objects whose writing is refused.
        self.refused: set[str] = set()
        #: Called after each second that somebody sleeps, with the seconds slept so far.
        self.on_second: Callable[[float], None] = lambda seconds: None

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return self._update(volume)

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return self._update(claim)

    def _update(self, obj: T) -> T:
        name = obj.metadata.name
        if name in self.refused:
            raise Refused(f'Operation cannot be fulfilled on "{name}"')
        version = str(int(obj.metadata.resource_version or "0") + 1)
        stored = msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, resource_version=version))
        self._store.put(stored)
        self.written.append(name)
        return stored

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.on_second(self.slept)


class VolumeCluster:
    """The plugin with everything around it."""

    def __init__(
        self,
        *objects: Builder[api.PersistentVolume]
        | Builder[api.PersistentVolumeClaim]
        | Builder[api.StorageClass]
        | Builder[api.CSINode]
        | Builder[api.CSIStorageCapacity]
        | api.Object,
        nodes: Iterable[NodeBuilder] = (),
        timeout: int = 600,
        args: VolumeBindingArgs | None = None,
        gates: dict[str, bool] | None = None,
    ) -> None:
        self.store = ObjectStore()
        for obj in objects:
            self.store.put(obj.obj() if isinstance(obj, Builder) else obj)
        self.handle = VolumeHandle(self.store, nodes, gates or {})
        self.plugin = VolumeBinding(args or VolumeBindingArgs(bind_timeout_seconds=timeout), self.handle)

    def pre_filter(self, pod: PodBuilder) -> Status | None:
        return self.plugin.pre_filter(CycleState(), pod.info(), ())

    def filter(self, pod: PodBuilder, node: str) -> Status | None:
        return Cycle(self, pod).filter(node)

    def claim(self, name: str) -> api.PersistentVolumeClaim:
        found = self.store.get(api.PersistentVolumeClaim, f"default/{name}")
        assert found is not None
        return found

    def volume(self, name: str) -> api.PersistentVolume:
        found = self.store.get(api.PersistentVolume, name)
        assert found is not None
        return found

    def remove_node(self, name: str) -> None:
        self.handle.nodes = FakeNodes([node for node in self.handle.nodes.all() if node.name != name])


class Cycle:
    """One pod's way through the plugin; PreFilter must have nothing against it."""

    def __init__(self, cluster: VolumeCluster, pod: PodBuilder) -> None:
        self._cluster = cluster
        self.pod: PodInfo = pod.info()
        self.state = CycleState()
        status = cluster.plugin.pre_filter(self.state, self.pod, ())
        assert status is None, status
        cluster.handle.pods.pods[self.pod.key] = self.pod.pod

    def filter(self, node: str) -> Status | None:
        info = self._cluster.handle.nodes.get(node)
        assert info is not None
        return self._cluster.plugin.filter(self.state, self.pod, info)

    def reserve(self, node: str) -> Status | None:
        return self._cluster.plugin.reserve(self.state, self.pod, node)

    def unreserve(self, node: str) -> None:
        self._cluster.plugin.unreserve(self.state, self.pod, node)

    def pre_flight(self, node: str) -> Status | None:
        return self._cluster.plugin.pre_bind_pre_flight(self.state, self.pod, node)

    def bind(self, node: str) -> Status | None:
        return asyncio.run(self._cluster.plugin.pre_bind(self.state, self.pod, node))

    def volumes(self, node: str) -> PodVolumes:
        found = self.state.read(VOLUMES_STATE_KEY, CycleVolumes)
        assert found is not None
        return found.by_node[node]

    def bindings(self, node: str) -> dict[str, str]:
        """Volume by claim."""
        return {b.claim.metadata.name: b.volume.metadata.name for b in self.volumes(node).bindings}

    def provisions(self, node: str) -> list[str]:
        return [provision.claim.metadata.name for provision in self.volumes(node).provisions]
