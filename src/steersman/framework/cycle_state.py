# SPDX-License-Identifier: Apache-2.0
"""State that plugins pass from one extension point to the next within one scheduling cycle.

A plugin writes under its own key in PreFilter or PreScore and reads it in Filter, Score and later.
What-if evaluations work on a clone: values that AddPod and RemovePod modify implement `clone()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec


class Cloneable(Protocol):
    """A value that what-if evaluations copy before they modify it."""

    def clone(self) -> Cloneable: ...


T = TypeVar("T")

_NO_PLUGINS: frozenset[str] = frozenset()


class CycleState(msgspec.Struct, eq=False):
    """Data of one scheduling cycle by key, and the plugins to skip in it."""

    #: Values written by plugins with `write`. Empty for pods whose plugins all have kernels.
    entries: dict[str, object] = {}
    #: Plugins whose PreFilter returned Skip.
    skip_filter: frozenset[str] = _NO_PLUGINS
    #: Plugins whose PreScore returned Skip.
    skip_score: frozenset[str] = _NO_PLUGINS
    #: State of the cycle of the pod's group; None outside of such a cycle, and from Permit on.
    group_cycle: CycleState | None = None
    #: State of the placement that is tried for the pod's group or, in the state of a group's cycle,
    #: for the parent group. None outside of a group's cycle.
    placement: CycleState | None = None

    def write(self, key: str, value: object) -> None:
        self.entries[key] = value

    def read(self, key: str, kind: type[T]) -> T | None:
        """Return the value under `key`, or None if there is none of this type."""
        value = self.entries.get(key)
        return value if isinstance(value, kind) else None

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def clone(self) -> CycleState:
        """Return a copy that a what-if evaluation may modify."""
        copy = CycleState()
        copy.entries = {key: _cloned(value) for key, value in self.entries.items()}
        copy.skip_filter = self.skip_filter
        copy.skip_score = self.skip_score
        copy.group_cycle, copy.placement = self.group_cycle, self.placement
        return copy


def _cloned(value: object) -> object:
    # Faster than isinstance(…, Cloneable), which would run for every node of a dry run.
    clone = getattr(value, "clone", None)
    return value if clone is None else clone()


class DeferredState(CycleState, eq=False):
    """A state that is filled on the first clone or the first read of a missing key, because it is
    expensive to build and rarely used."""

    #: Builds the content of the state; None once it is filled.
    fill: Callable[[], CycleState] | None = None

    def read(self, key: str, kind: type[T]) -> T | None:
        if key not in self.entries:
            self._complete()
        return super().read(key, kind)

    def clone(self) -> CycleState:
        self._complete()
        return super().clone()

    def _complete(self) -> None:
        """Fill the state; entries written before stay."""
        if self.fill is not None:
            filled, self.fill = self.fill(), None
            self.entries = {**filled.entries, **self.entries}
            self.skip_filter, self.skip_score = filled.skip_filter, filled.skip_score
