"""Which Reserve and PreBind plugins a pod concerns, remembered by shape: most pods concern none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from steersman.framework.pod_info import PodInfo, PodShape


class Call(Protocol):
    @property
    def plugin(self) -> object: ...


CallT = TypeVar("CallT", bound=Call)

_MOST_SHAPES = 8192


class ConcernedCalls(Generic[CallT]):
    """The calls of one extension point, narrowed down to the plugins that a pod concerns."""

    def __init__(self, calls: Iterable[CallT]) -> None:
        self._calls = tuple(calls)
        self._by_shape: dict[PodShape, tuple[CallT, ...]] = {}

    def __iter__(self) -> Iterator[CallT]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, pod: PodInfo) -> tuple[CallT, ...]:
        """In configured order."""
        known = self._by_shape.get(pod.shape)
        if known is None:
            if len(self._by_shape) >= _MOST_SHAPES:
                self._by_shape.clear()
            known = self._by_shape[pod.shape] = tuple(c for c in self._calls if concerns(c.plugin, pod))
        return known


def concerns(plugin: object, pod: PodInfo) -> bool:
    """Whether the plugin may have anything to do for pods of this shape: see `framework.plugin.ConcernsSomePods`."""
    says = getattr(plugin, "concerns", None)
    return says is None or bool(says(pod))
