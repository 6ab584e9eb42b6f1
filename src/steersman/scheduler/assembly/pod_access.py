# SPDX-License-Identifier: Apache-2.0
"""Access to other pods for plugins, and writes through the host's `ApiWriter`.

Implements `framework.handle.PodAccess`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from steersman import api
from steersman.framework import ApiWriter, PodInPreBind, WaitingPod
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.runtime.pods_in_pre_bind import PodsInPreBind
from steersman.scheduler.runtime.waiting_pods import WaitingPods

#: Limit of the API server.
MAX_REASON_LENGTH: Final = 128


class SchedulerPods:
    """Pod access of one scheduler."""

    def __init__(
        self,
        pods: Mapping[str, api.Pod],
        waiting_pods: WaitingPods,
        pods_in_pre_bind: PodsInPreBind,
        writer: ApiWriter,
    ) -> None:
        self._pods = pods
        self._waiting_pods = waiting_pods
        self._pods_in_pre_bind = pods_in_pre_bind
        self._writer = writer
        #: Set later, because the queue needs the hints of the plugins.
        self.queue: SchedulingQueue | None = None

    def get(self, key: str) -> api.Pod | None:
        return self._pods.get(key)

    def list(self, namespace: str | None = None) -> Iterable[api.Pod]:
        if namespace is None:
            return self._pods.values()
        return (pod for pod in self._pods.values() if pod.metadata.namespace == namespace)

    def waiting(self, uid: str) -> WaitingPod | None:
        return self._waiting_pods.get(uid)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        return self._waiting_pods

    def in_pre_bind(self, uid: str) -> PodInPreBind | None:
        return self._pods_in_pre_bind.get(uid)

    def activate(self, pods: Iterable[api.Pod]) -> None:
        if self.queue is not None:
            self.queue.activate(pods)

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        return await self._writer.patch_pod_status(pod, condition=condition, nominated_node_name=nominated_node_name)

    async def delete_pod(self, pod: api.Pod) -> bool:
        return await self._writer.delete_pod(pod)

    def report_preempted(
        self, victim: api.Pod, preemptor: api.Pod, message: str, group: api.AnyPodGroup | None = None
    ) -> None:
        self._writer.report_preempted(victim, preemptor, message, group)

    def report_event(self, pod: api.Pod, reason: str, note: str, *, is_warning: bool = False) -> None:
        if not reason.isidentifier() or len(reason) > MAX_REASON_LENGTH:
            raise ValueError(f"report_event: reason is {reason!r}, expected a word such as QuotaExceeded")
        if not note:
            raise ValueError(f"report_event: the note of {reason} is empty")
        self._writer.report_event(pod, reason, note, is_warning=is_warning)
