# SPDX-License-Identifier: Apache-2.0
"""Other pods as a plugin reaches them, with an API server that can be told to refuse or to be slow."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.base.rng import Rng, SeededRng
from steersman.framework.pod_info import PodInfo
from steersman.scheduler.runtime.pods_in_pre_bind import PodsInPreBind, PreBindWork
from steersman.scheduler.runtime.waiting_pods import PodAtPermit, WaitingPods
from steersman.testing import PodBuilder


class FakePods:
    """Implements `framework.PodAccess` and writes down what happens, in order."""

    def __init__(self, pods: Iterable[PodInfo] = ()) -> None:
        self.pods = {pod.key: pod.pod for pod in pods}
        self.waiting_for_permission = WaitingPods()
        self.pre_binding = PodsInPreBind()
        self.story: list[str] = []
        self.conditions: dict[str, api.Condition] = {}
        #: Keys of pods whose deletion, or the patch of whose nomination, the server refuses.
        self.refused: set[str] = set()
        #: While set, deletions wait for it.
        self.gate: asyncio.Event | None = None

    def get(self, key: str) -> api.Pod | None:
        return self.pods.get(key)

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        return [pod for pod in self.pods.values() if namespace in (None, pod.metadata.namespace)]

    def waiting(self, uid: str) -> PodAtPermit | None:
        return self.waiting_for_permission.get(uid)

    def waiting_pods(self) -> Iterable[PodAtPermit]:
        return self.waiting_for_permission

    def in_pre_bind(self, uid: str) -> PreBindWork | None:
        return self.pre_binding.get(uid)

    def activate(self, pods: Iterable[api.Pod]) -> None:
        self.story += [f"activate {pod.metadata.name}" for pod in pods]

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        key, name = api.key(pod), pod.metadata.name
        if nominated_node_name is not None:
            self.story.append(f"nominate {name} to {nominated_node_name!r}")
            if key in self.refused:
                raise OSError("the server is down")
        if condition is not None:
            self.story.append(f"mark {name}")
            self.conditions[name] = condition
        return key in self.pods

    async def delete_pod(self, pod: api.Pod) -> bool:
        key = api.key(pod)
        if self.gate is not None:
            await self.gate.wait()
        if key in self.refused:
            self.story.append(f"refuse to delete {pod.metadata.name}")
            raise OSError("the server is down")
        self.story.append(f"delete {pod.metadata.name}")
        return self.pods.pop(key, None) is not None

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        self.story.append(f"event on {victim.metadata.name}: {message}")

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        self.story.append(f"{reason} on {pod.metadata.name}: {note}")


class FakePostFilterHandle(FakeHandle):
    """Implements `framework.PostFilterHandle`; what is spawned runs when `finish` is called."""

    def __init__(self, pods: FakePods, nominated: dict[str, Sequence[PodInfo]] | None = None) -> None:
        super().__init__(nominated=nominated)
        self.pods = pods
        self.rng: Rng = SeededRng(0)
        self.work: list[Coroutine[Any, Any, None]] = []

    @property
    def what_if(self) -> Any:
        raise AssertionError("carrying out asks nothing")

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.work.append(work)

    def finish(self) -> None:
        while self.work:
            asyncio.run(self.work.pop(0))


def running(*builders: PodBuilder) -> list[PodInfo]:
    return [builder.node("n1").info() for builder in builders]
