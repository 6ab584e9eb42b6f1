# SPDX-License-Identifier: Apache-2.0
"""The Reserve, Permit and PreBind plugins that apply to a pod, cached by shape; for most pods none
do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from steersman.base import CacheSpec, LruCache
from steersman.framework import PodInfo
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, CycleAborted, fault


class PluginCall(Protocol):
    @property
    def plugin(self) -> object: ...


CallT = TypeVar("CallT", bound=PluginCall)

_MAX_SHAPES = 1 << 10


CALLS_BY_SHAPE = CacheSpec(
    name="calls by shape",
    attributes=("ApplicableCalls._by_shape", "ApplicableCalls._young"),
    contents="the Reserve, Permit and PreBind plugins that apply to a pod",
    key="token of the shape",
    invalidation="never: a shape does not change",
    limit="1,024 shapes, most recently used (`LruCache`)",
    reference="`concerns` of each plugin",
    checked_by="tests/equivalence/test_engines_agree.py",
)


class ApplicableCalls(Generic[CallT]):
    """The calls of one extension point, with the subset that applies to each pod."""

    def __init__(self, calls: Iterable[CallT]) -> None:
        self._calls = tuple(calls)
        self._by_shape: LruCache[object, tuple[CallT, ...]] = LruCache(_MAX_SHAPES)
        self._young = self._by_shape.young

    def __iter__(self) -> Iterator[CallT]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def for_pod(self, pod: PodInfo) -> tuple[CallT, ...]:
        """Return the calls that apply to the pod, in configured order."""
        known = self._young.get(pod.shape.token)
        return self._find(pod) if known is None else known

    def _find(self, pod: PodInfo) -> tuple[CallT, ...]:
        known = self._by_shape.get(pod.shape.token)
        if known is None:
            known = tuple(c for c in self._calls if concerns(c.plugin, pod))
            self._by_shape.put(pod.shape.token, known)
        return known


def concerns(plugin: object, pod: PodInfo) -> bool:
    """Return whether the plugin applies to pods of this shape; see
    `framework.plugin.ConcernsSomePods`."""
    method = getattr(plugin, "concerns", None)
    try:
        return method is None or bool(method(pod))
    except PLUGIN_FAULTS as cause:
        raise CycleAborted(fault("Concerns", getattr(plugin, "name", ""), cause)) from cause
