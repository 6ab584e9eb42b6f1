# SPDX-License-Identifier: Apache-2.0
"""Pods that wait for a node: what is parsed of them once, and the PreEnqueue plugins that may hold them back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from steersman import api
from steersman.framework.events import ClusterEvent
from steersman.framework.plugin import TellsReleasedPods
from steersman.framework.pod_info import PodInfo, PodShapes
from steersman.framework.status import Status
from steersman.graph_copy import copied_attributes, emptied
from steersman.runtime.profile import StatusCall


@copied_attributes(_by_uid=emptied)
class PendingInfos:
    """The PodInfo made for PreEnqueue is the one that the cycle uses: making it is a good part of adding a pod. It goes with
    the pod. Should one stay behind, it is found when there are twice as many of them as of pods."""

    _FEWEST = 1 << 10

    def __init__(self, shapes: PodShapes, pods: Mapping[str, api.Pod]) -> None:
        """`pods` are those that there are, by namespace/name."""
        self._shapes = shapes
        self._pods = pods
        self._by_uid: dict[str, PodInfo] = {}
        self._look_for_gone = self._FEWEST

    def get(self, pod: api.Pod) -> PodInfo:
        info = self._by_uid.get(pod.metadata.uid)
        if info is None or info.pod is not pod:
            if len(self._by_uid) >= self._look_for_gone:
                self._drop_gone()
            info = self._by_uid[pod.metadata.uid] = self._shapes.info(pod)
        return info

    def take(self, pod: api.Pod) -> PodInfo:
        """The pod's info, which is not needed here any more: its attempt begins."""
        info = self._by_uid.pop(pod.metadata.uid, None)
        return info if info is not None and info.pod is pod else self._shapes.info(pod)

    def bare(self, pod: api.Pod) -> PodInfo:
        """The info of a pod that may be broken, with nothing but its metadata, its scheduler and its priority."""
        spec = api.PodSpec(scheduler_name=pod.spec.scheduler_name, priority=pod.spec.priority)
        return self._shapes.info(api.Pod(metadata=pod.metadata, spec=spec))

    def discard(self, uid: str) -> None:
        """The pod has gone, or got a node."""
        self._by_uid.pop(uid, None)

    def _drop_gone(self) -> None:
        pods = self._pods
        self._by_uid = {uid: info for uid, info in self._by_uid.items() if pods.get(info.key) is info.pod}
        self._look_for_gone = 2 * len(self._by_uid) + self._FEWEST

    def __len__(self) -> int:
        return len(self._by_uid)


class PreEnqueueStep(msgspec.Struct, frozen=True):
    """A PreEnqueue plugin as the queue calls it."""

    name: str
    run: Callable[[PodInfo], Status | None]
    info: Callable[[api.Pod], PodInfo]

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        return self.run(self.info(pod))


class TellingPreEnqueueStep(PreEnqueueStep, frozen=True):
    """A PreEnqueue plugin that tells whom an event releases, as the queue calls it."""

    released_by: Callable[[ClusterEvent, object, object], Collection[str]]


def pre_enqueue_step(call: StatusCall, info: Callable[[api.Pod], PodInfo]) -> PreEnqueueStep:
    if isinstance(call.plugin, TellsReleasedPods):
        return TellingPreEnqueueStep(call.name, call.run, info, call.plugin.released_by)
    return PreEnqueueStep(call.name, call.run, info)
