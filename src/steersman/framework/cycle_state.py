# SPDX-License-Identifier: Apache-2.0
"""The state that plugins hand from one extension point to the next within one scheduling cycle.

A plugin writes under a key of its own in PreFilter or PreScore and reads it in Filter, Score and later. Evaluating
"what if this pod were there" works on a clone: values that AddPod and RemovePod change implement `clone()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec


class Cloneable(Protocol):
    """A value that a what-if evaluation may change, and therefore copies first."""

    def clone(self) -> Cloneable: ...


T = TypeVar("T")

_NO_PLUGINS: frozenset[str] = frozenset()


class CycleState(msgspec.Struct, eq=False):
    """Data of one scheduling cycle, by key; and which plugins asked to be left out of it."""

    #: What plugins wrote, by key: they use `write` and `read`. Empty for pods whose plugins all have a vector form.
    entries: dict[str, object] = {}
    #: Plugins whose PreFilter said Skip.
    skip_filter: frozenset[str] = _NO_PLUGINS
    #: Plugins whose PreScore said Skip.
    skip_score: frozenset[str] = _NO_PLUGINS

    def write(self, key: str, value: object) -> None:
        self.entries[key] = value

    def read(self, key: str, kind: type[T]) -> T | None:
        """The value under `key`, or None when nothing (of that type) was written."""
        value = self.entries.get(key)
        return value if isinstance(value, kind) else None

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)

    def clone(self) -> CycleState:
        """A copy that a what-if evaluation may change."""
        copy = CycleState()
        copy.entries = {key: _cloned(value) for key, value in self.entries.items()}
        copy.skip_filter = self.skip_filter
        copy.skip_score = self.skip_score
        return copy


def _cloned(value: object) -> object:
    # A look for the method instead of isinstance(…, Cloneable): this is asked for every node of a dry run.
    clone = getattr(value, "clone", None)
    return value if clone is None else clone()


class DeferredState(CycleState, eq=False):
    """A state that is filled when it is cloned, or something is read that is not in it yet: it is expensive to make, and seldom
    looked at."""

    #: Makes what the state is filled with; None once it is.
    fill: Callable[[], CycleState] | None = None

    def read(self, key: str, kind: type[T]) -> T | None:
        if key not in self.entries:
            self._complete()
        return super().read(key, kind)

    def clone(self) -> CycleState:
        self._complete()
        return super().clone()

    def _complete(self) -> None:
        """Fills the state; entries that were written meanwhile stay."""
        if self.fill is not None:
            filled, self.fill = self.fill(), None
            self.entries = {**filled.entries, **self.entries}
            self.skip_filter, self.skip_score = filled.skip_filter, filled.skip_score
