# SPDX-License-Identifier: Apache-2.0
"""A handle with pod groups and pods waiting for permission, and groups as a cycle sees them."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework import NodeInfo, PodGroupInfo
from steersman.framework.handle import PodInPreBind
from steersman.scheduler.runtime.waiting_pods import PodAtPermit
from steersman.scheduler.state.group_hierarchy import key_of_group
from steersman.scheduler.state.pod_groups import PodGroupTable
from steersman.testing import CompositePodGroupBuilder, PodBuilder, PodGroupBuilder

Group = PodGroupBuilder | CompositePodGroupBuilder


class FakePods:
    """Waiting pods by uid, and the names of activated ones."""

    def __init__(self) -> None:
        self.at_permit: dict[str, PodAtPermit] = {}
        self.activated: list[str] = []

    def get(self, key: str) -> api.Pod | None:
        raise NotImplementedError

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        raise NotImplementedError

    def waiting(self, uid: str) -> PodAtPermit | None:
        return self.at_permit.get(uid)

    def waiting_pods(self) -> Iterable[PodAtPermit]:
        return self.at_permit.values()

    def in_pre_bind(self, uid: str) -> PodInPreBind | None:
        raise NotImplementedError

    def activate(self, pods: Iterable[api.Pod]) -> None:
        self.activated += [pod.metadata.name for pod in pods]

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        raise NotImplementedError

    async def delete_pod(self, pod: api.Pod) -> bool:
        raise NotImplementedError

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        raise NotImplementedError

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        raise NotImplementedError


class GroupHandle(FakeHandle):
    """Handle over groups and members; implements `PermitHandle`."""

    def __init__(
        self,
        groups: Iterable[Group] = (),
        members: Iterable[PodBuilder] = (),
        *,
        nodes: Sequence[NodeInfo] = (),
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        super().__init__(nodes=nodes, gates={"CompositePodGroup": False, **(gates or {})})
        self.table = self.pod_groups = PodGroupTable(has_composites=self.gates.enabled("CompositePodGroup"))
        self.pods = FakePods()
        for group in groups:
            self.table.set_group(group.obj())
        for member in members:
            self.table.put(member.obj())

    def spawn(self, work: Coroutine[Any, Any, None]) -> object:
        raise NotImplementedError

    def assume(self, pod: PodBuilder, node: str = "n1") -> None:
        self.table.assume(pod.obj(), node)

    def wait(self, pod: PodBuilder, plugin: str) -> PodAtPermit:
        """Assume the member and let it wait for permission of the plugin."""
        self.assume(pod)
        waiting = self.pods.at_permit[pod.info().uid] = PodAtPermit(pod.info(), "n1", {plugin: 1})
        return waiting

    def info(self, group: Group) -> PodGroupInfo:
        """Return the group as its cycle gets it."""
        return self.table.hierarchy.tree(key_of_group(group.obj()))[key_of_group(group.obj())]
