# SPDX-License-Identifier: Apache-2.0
"""A dict that shares its base with forks, and stores later changes separately (copy-on-write).

For large tables that are written and read by key, and hardly ever iterated. A copy costs in
proportion to the changes since the last one. A read costs a call and at most two lookups, so that
tables in hot paths stay plain dicts.
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView
from typing import Any, Final, Generic, TypeVar

from steersman.base.graph_copy import GraphCopy, by_reference, copied_attributes, copied_by

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

_MERGE_FRACTION: Final = 4
"""Changes are merged into the base when they exceed this fraction (1/n) of its entries, so that the
cost of merging is amortised."""


def _copied(copies: GraphCopy, original: LayeredDict[Any, Any]) -> LayeredDict[Any, Any]:
    """Return a copy with the same base and copied changes."""
    if _MERGE_FRACTION * (len(original._own) + len(original._removed)) > len(original._base):
        original._merge_changes()
    made: LayeredDict[Any, Any] = copies.note(original, LayeredDict())
    made._base, made._own, made._removed = original._base, original._own.copy(), original._removed.copy()
    return made


@copied_by(_copied)
@copied_attributes(_base=by_reference)
class LayeredDict(Generic[KeyT, ValueT]):
    """Entries in insertion order, as in a dict. None cannot be a value. Copies share keys and
    values."""

    __slots__ = ("_base", "_own", "_removed")

    def __init__(self) -> None:
        #: Never modified, because forks share it; replaced as a whole.
        self._base: dict[KeyT, ValueT] = {}
        #: Changed and added entries.
        self._own: dict[KeyT, ValueT] = {}
        #: Keys of the base that were removed, including those added again, which are in `_own` and
        #: come last.
        self._removed: set[KeyT] = set()

    def get(self, key: KeyT) -> ValueT | None:
        value = self._own.get(key)
        if value is None and self._base and key not in self._removed:
            return self._base.get(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        self._own[key] = value

    def pop(self, key: KeyT) -> ValueT | None:
        """Remove and return the value, or None."""
        value = self._own.pop(key, None)
        if key in self._base and key not in self._removed:
            self._removed.add(key)
            return self._base[key] if value is None else value
        return value

    def items(self) -> ItemsView[KeyT, ValueT]:
        """Return the current entries; later changes are not visible in the result."""
        self._merge_changes()
        return self._base.items()

    def __contains__(self, key: object) -> bool:
        return key in self._own or (key in self._base and key not in self._removed)

    def __len__(self) -> int:
        if not self._base:
            return len(self._own)
        base, removed = self._base, self._removed
        return len(base) - len(removed) + sum(key not in base or key in removed for key in self._own)

    def _merge_changes(self) -> None:
        """Merge the changes into a new base."""
        own, removed = self._own, self._removed
        if not own and not removed:
            return
        if self._base:
            entries = self._base.copy()
            for key in removed:
                del entries[key]
            entries.update(own)
        else:
            entries = own
        self._base, self._own, self._removed = entries, {}, set()
