# SPDX-License-Identifier: Apache-2.0
"""Which Reserve and PreBind plugins a pod concerns, remembered by shape: most pods concern none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from steersman.bounded_table import RecentTable
from steersman.framework.pod_info import PodInfo
from steersman.kept import Kept


class PluginCall(Protocol):
    @property
    def plugin(self) -> object: ...


CallT = TypeVar("CallT", bound=PluginCall)

_MOST_SHAPES = 1 << 10


CALLS_BY_SHAPE = Kept(
    name="calls by shape",
    attributes=("ApplicableCalls._by_shape", "ApplicableCalls._young"),
    holds="the Reserve and PreBind plugins that have something to do for a pod",
    key="token of the shape",
    stamps="never: a shape does not change",
    bound="1,024 shapes, the latest (`RecentTable`)",
    twin="`concerns` of each plugin",
    held_equal="tests/equivalence/test_engines_agree.py",
)


class ApplicableCalls(Generic[CallT]):
    """The calls of one extension point, narrowed down to the plugins that a pod concerns."""

    def __init__(self, calls: Iterable[CallT]) -> None:
        self._calls = tuple(calls)
        self._by_shape: RecentTable[object, tuple[CallT, ...]] = RecentTable(_MOST_SHAPES)
        self._young = self._by_shape.young

    def __iter__(self) -> Iterator[CallT]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, pod: PodInfo) -> tuple[CallT, ...]:
        """The calls that concern the pod, in configured order."""
        known = self._young.get(pod.shape.token)
        return self._find(pod) if known is None else known

    def _find(self, pod: PodInfo) -> tuple[CallT, ...]:
        known = self._by_shape.get(pod.shape.token)
        if known is None:
            known = tuple(c for c in self._calls if concerns(c.plugin, pod))
            self._by_shape.put(pod.shape.token, known)
        return known


def concerns(plugin: object, pod: PodInfo) -> bool:
    """Whether the plugin may have anything to do for pods of this shape: see `framework.plugin.ConcernsSomePods`."""
    says = getattr(plugin, "concerns", None)
    return says is None or bool(says(pod))
