# SPDX-License-Identifier: Apache-2.0
"""PodInfos of pending pods, and adapters for the PreEnqueue plugins that may gate them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from steersman import api
from steersman.base.graph_copy import copied_attributes, emptied
from steersman.framework import (
    ClusterEvent,
    GroupKey,
    HelpsGroups,
    PodInfo,
    PodShapes,
    Status,
    UngatesPods,
)
from steersman.scheduler.runtime.profile import StatusCall


@copied_attributes(_by_uid=emptied)
class PendingInfos:
    """Caches the PodInfo made for PreEnqueue for the cycle, because making it is a large part of
    adding a pod. Entries are removed with their pod; leftovers are removed when there are twice as
    many entries as pods."""

    _MIN_SWEEP = 1 << 10

    def __init__(self, shapes: PodShapes, pods: Mapping[str, api.Pod]) -> None:
        """`pods` are all existing pods by namespace/name."""
        self._shapes = shapes
        self._pods = pods
        self._by_uid: dict[str, PodInfo] = {}
        self._sweep_at = self._MIN_SWEEP

    def get(self, pod: api.Pod) -> PodInfo:
        info = self._by_uid.get(pod.metadata.uid)
        if info is None or info.pod is not pod:
            if len(self._by_uid) >= self._sweep_at:
                self._sweep()
            info = self._by_uid[pod.metadata.uid] = self._shapes.info(pod)
        return info

    def take(self, pod: api.Pod) -> PodInfo:
        """Remove and return the pod's info, because its attempt begins."""
        info = self._by_uid.pop(pod.metadata.uid, None)
        return info if info is not None and info.pod is pod else self._shapes.info(pod)

    def bare(self, pod: api.Pod) -> PodInfo:
        """Return the info of a possibly invalid pod, with its metadata, scheduler name and priority
        only."""
        spec = api.PodSpec(scheduler_name=pod.spec.scheduler_name, priority=pod.spec.priority)
        return self._shapes.info(api.Pod(metadata=pod.metadata, spec=spec))

    def discard(self, uid: str) -> None:
        """Remove the info of a pod that was deleted or has a node."""
        self._by_uid.pop(uid, None)

    def _sweep(self) -> None:
        pods = self._pods
        self._by_uid = {uid: info for uid, info in self._by_uid.items() if pods.get(info.key) is info.pod}
        self._sweep_at = 2 * len(self._by_uid) + self._MIN_SWEEP

    def __len__(self) -> int:
        return len(self._by_uid)


class PreEnqueueStep(msgspec.Struct, frozen=True):
    """A PreEnqueue plugin as called by the queue."""

    name: str
    run: Callable[[PodInfo], Status | None]
    info: Callable[[api.Pod], PodInfo]

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        return self.run(self.info(pod))


class ReleasingPreEnqueueStep(PreEnqueueStep, frozen=True):
    """A PreEnqueue plugin that implements `ungated_pods`, as called by the queue."""

    ungated_pods: Callable[[ClusterEvent, object, object], Collection[str]]


class GroupPreEnqueueStep(PreEnqueueStep, frozen=True):
    """A PreEnqueue plugin that implements `helped_groups`, as called by the queue."""

    helped_groups: Callable[[ClusterEvent, object, object], Collection[GroupKey]]


def pre_enqueue_step(call: StatusCall, info: Callable[[api.Pod], PodInfo]) -> PreEnqueueStep:
    if isinstance(call.plugin, HelpsGroups):
        return GroupPreEnqueueStep(call.name, call.run, info, call.plugin.helped_groups)
    if isinstance(call.plugin, UngatesPods):
        return ReleasingPreEnqueueStep(call.name, call.run, info, call.plugin.ungated_pods)
    return PreEnqueueStep(call.name, call.run, info)
