# SPDX-License-Identifier: Apache-2.0
"""The parts of the scheduler that a golden scenario needs: cache, profiles and cycle, with nominations kept by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from steersman import api, config
from steersman.assembly.registry import default_registry
from steersman.clock import Clock
from steersman.cycle.schedule_one import SchedulingCycle
from steersman.framework.handle import PodInPreBind, WaitingPod
from steersman.framework.pod_info import PodInfo
from steersman.framework.reading import NoReader
from steersman.framework.status import Status
from steersman.preemption import DefaultPreemption, FullSearch
from steersman.rng import Rng
from steersman.runtime.handle import ProfileHandle, TableNodes
from steersman.runtime.profile import Profile
from steersman.runtime.profiles import build_profiles
from steersman.state.cache import Cache
from steersman.state.nominations import Nominations
from steersman.state.objects import ObjectStore

FINISHED = ("Succeeded", "Failed")


class NoBinder:
    """Scenarios end with the decision: nothing is ever bound through the API."""

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        raise RuntimeError(f"a scenario does not bind, but {pod.key} was to be bound to {node_name}")


class NoApi:
    """Scenarios decide and nothing else: whatever a plugin wants to write to a pod, the pod is gone already, and the
    expected outcome is applied instead. Implements `framework.handle.PodAccess`, `VolumeWriter` and
    `ResourceClaimWriter`."""

    def __init__(self) -> None:
        self.pods: dict[str, api.Pod] = {}
        #: The ResourceClaim that was written last, as it would be.
        self.changed_claim: api.ResourceClaim | None = None

    def get(self, key: str) -> api.Pod | None:
        return self.pods.get(key)

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        return [pod for pod in self.pods.values() if namespace in (None, pod.metadata.namespace)]

    def waiting(self, uid: str) -> WaitingPod | None:
        return None

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return ()

    def in_pre_bind(self, uid: str) -> PodInPreBind | None:
        return None

    def activate(self, pods: Iterable[api.Pod]) -> None:
        """Activates nothing: there is no queue."""

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return False

    async def delete_pod(self, pod: api.Pod) -> bool:
        return False

    def report_preempted(self, victim: api.Pod, preemptor: api.Pod, message: str) -> None:
        """Nobody reads events here."""

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        """Nobody reads events here."""

    async def update_volume(self, volume: api.PersistentVolume) -> api.PersistentVolume:
        return volume

    async def update_claim(self, claim: api.PersistentVolumeClaim) -> api.PersistentVolumeClaim:
        return claim

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        self.changed_claim = change(claim)
        return self.changed_claim

    async def create_resource_claim(self, claim: api.ResourceClaim) -> api.ResourceClaim:
        return claim

    async def delete_resource_claim(self, claim: api.ResourceClaim) -> None:
        """The scenario says what becomes of claims."""

    async def set_extended_resource_claim(self, pod: api.Pod, status: api.PodExtendedResourceClaimStatus) -> None:
        """Nobody looks at the status of pods that have a node."""


class Setting:
    """One scenario's cluster and scheduler."""

    def __init__(self, document: Mapping[str, Any] | None, clock: Clock, rng: Rng, scalar: bool) -> None:
        self._clock = clock
        self._rng = rng
        #: The pods that get cycles, as the scheduler sees them at the API server.
        self.api = NoApi()
        self.objects = ObjectStore()
        self.cache = Cache(self.objects)
        self._nominated: dict[str, tuple[api.Pod, str]] = {}
        self._nominations = Nominations(self.cache.nodes)
        loaded = config.default_configuration() if document is None else config.load(_text(document), "scenario")
        self.profiles: dict[str, Profile] = build_profiles(
            config.build(loaded).profiles, default_registry(), self._handle
        )
        for profile in self.profiles.values():
            _look_everywhere(profile)
        self.cycle = SchedulingCycle(self.cache, self.profiles, lambda: self._nominations, rng, scalar=scalar)

    @property
    def node_count(self) -> int:
        return self.cache.nodes.node_count

    def node_names(self) -> list[str]:
        table = self.cache.nodes
        return [table.names[row] for row in table.live_rows()]

    def add_object(self, obj: api.Object) -> None:
        if isinstance(obj, api.Node):
            self.cache.set_node(obj)
        else:
            self.objects.put(obj)

    def add_existing_pod(self, pod: api.Pod) -> None:
        if pod.status.phase in FINISHED:
            return
        if pod.spec.node_name:
            self.cache.add_pod(pod)
        else:
            self.nominate_by_status(pod)

    def remove_pod(self, name: str) -> None:
        record = next(r for r in self.cache.pods() if r.info.key == name)
        self.cache.remove_pod(record.info.pod)

    def nominate_by_status(self, pod: api.Pod) -> None:
        if pod.status.nominated_node_name and (pod.spec.scheduler_name or "default-scheduler") in self.profiles:
            self.nominate(pod, pod.status.nominated_node_name)

    def nominate(self, pod: api.Pod, node: str) -> None:
        self.drop_nomination(pod)
        self._nominated[pod.metadata.uid] = (pod, node)
        self._nominations_changed(node)

    def drop_nomination(self, pod: api.Pod) -> None:
        dropped = self._nominated.pop(pod.metadata.uid, None)
        if dropped is not None:
            self._nominations_changed(dropped[1])

    def drop_nomination_of(self, name: str) -> None:
        for pod in [pod for pod, _ in self._nominated.values() if api.key(pod) == name]:
            self.drop_nomination(pod)

    def _nominations_changed(self, node: str) -> None:
        here = [self.cache.shapes.info(pod) for pod, its in self._nominated.values() if its == node]
        self._nominations.put(node, here)

    def _handle(self, profile: str) -> ProfileHandle:
        return ProfileHandle(
            profile_name=profile,
            objects=self.objects,
            nodes=TableNodes(self.cache.nodes),
            clock=self._clock,
            gates=config.DEFAULT_GATES,
            binder=NoBinder(),
            client=NoReader(),
            nominated=lambda node: self._nominations.on(node),
            rng=self._rng,
            pods=self.api,
            cycle_what_if=lambda: self.cycle.what_if(profile),
            spawn_task=asyncio.run,
            volumes=self.api,
            resource_claims=self.api,
        )


def _look_everywhere(profile: Profile) -> None:
    """The corpus was made by preemptions that examine every node, from the first, and it lists all candidates."""
    plugin = profile.plugins.get(DefaultPreemption.name)
    if isinstance(plugin, DefaultPreemption):
        plugin.evaluator.search = FullSearch()
        plugin.evaluator.detailed = True


def _text(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode()
