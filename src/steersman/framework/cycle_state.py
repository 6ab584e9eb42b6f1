# SPDX-License-Identifier: Apache-2.0
"""What plugins hand from one extension point to the next within one scheduling cycle.

A plugin writes under a key of its own in PreFilter or PreScore and reads it in Filter, Score and later. Evaluating
"what if this pod were there" works on a clone: values that AddPod and RemovePod change implement `clone()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar


class Cloneable(Protocol):
    """A value that a what-if evaluation may change, and therefore copies first."""

    def clone(self) -> Cloneable: ...


T = TypeVar("T")

_NO_PLUGINS: frozenset[str] = frozenset()


class CycleState:
    """Data of one scheduling cycle, by key; and which plugins asked to be left out of it."""

    __slots__ = ("_data", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._data: dict[str, object] = {}
        #: Plugins whose PreFilter said Skip.
        self.skip_filter = _NO_PLUGINS
        #: Plugins whose PreScore said Skip.
        self.skip_score = _NO_PLUGINS

    @property
    def is_empty(self) -> bool:
        """Nobody has written anything: so it is for pods whose plugins all have a vector form."""
        return not self._data

    def write(self, key: str, value: object) -> None:
        self._data[key] = value

    def read(self, key: str, kind: type[T]) -> T | None:
        """The value under `key`, or None when nothing (of that type) was written."""
        value = self._data.get(key)
        return value if isinstance(value, kind) else None

    def delete(self, key: str) -> None:
        self._data.pop(key, None)

    def clone(self) -> CycleState:
        """A copy that a what-if evaluation may change."""
        copy = CycleState()
        copy._data = {key: _cloned(value) for key, value in self._data.items()}
        copy.skip_filter = self.skip_filter
        copy.skip_score = self.skip_score
        return copy


def _cloned(value: object) -> object:
    # A look for the method instead of isinstance(…, Cloneable): this is asked for every node of a dry run.
    clone = getattr(value, "clone", None)
    return value if clone is None else clone()


class DeferredState(CycleState):
    """A state that is filled when it is first read or cloned: it is expensive to make, and seldom looked at."""

    __slots__ = ("_fill",)

    def __init__(self, fill: Callable[[], CycleState]) -> None:
        super().__init__()
        self._fill: Callable[[], CycleState] | None = fill

    def read(self, key: str, kind: type[T]) -> T | None:
        self._complete()
        return super().read(key, kind)

    def clone(self) -> CycleState:
        self._complete()
        return super().clone()

    def _complete(self) -> None:
        """What was written meanwhile stays."""
        if self._fill is not None:
            filled, self._fill = self._fill(), None
            self._data = {**filled._data, **self._data}
            self.skip_filter, self.skip_score = filled.skip_filter, filled.skip_score
