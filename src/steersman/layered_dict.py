# SPDX-License-Identifier: Apache-2.0
"""A dict that a fork shares with its origin: what was in it when they parted is held once, what came later by each of them.

For large tables that are written and looked up by key, and hardly ever gone through: who is where, what happened when. A copy
costs what has changed since the last one, not what there is. A read costs a call and at most two lookups, so that tables which
are read at every turn of the scheduler stay plain dicts.
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView
from typing import Any, Final, Generic, TypeVar

from steersman.graph_copy import GraphCopy, by_reference, copied_attributes, copied_by

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

_MOST_CHANGES: Final = 4
"""Changes are laid into the base when they are more than one in so many of its entries: reads and copies stay cheap, and what
that costs has been paid for by so many writes."""


def _copied(copies: GraphCopy, original: LayeredDict[Any, Any]) -> LayeredDict[Any, Any]:
    """Has the same base, and the changes as they are now."""
    if _MOST_CHANGES * (len(original._own) + len(original._removed)) > len(original._base):
        original._lay_down()
    made: LayeredDict[Any, Any] = copies.note(original, LayeredDict())
    made._base, made._own, made._removed = original._base, original._own.copy(), original._removed.copy()
    return made


@copied_by(_copied)
@copied_attributes(_base=by_reference)
class LayeredDict(Generic[KeyT, ValueT]):
    """Entries in the order in which their keys came, as of a dict; None is no value. Copies share keys and values."""

    __slots__ = ("_base", "_own", "_removed")

    def __init__(self) -> None:
        #: Never changed, because forks have it too; replaced as a whole.
        self._base: dict[KeyT, ValueT] = {}
        #: Entries that came later: instead of those of the base, and further ones.
        self._own: dict[KeyT, ValueT] = {}
        #: Keys of the base that were removed, even if they came back: those that did are in `_own`, and come last.
        self._removed: set[KeyT] = set()

    def get(self, key: KeyT) -> ValueT | None:
        value = self._own.get(key)
        if value is None and self._base and key not in self._removed:
            return self._base.get(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        self._own[key] = value

    def pop(self, key: KeyT) -> ValueT | None:
        """The value, which is removed; None if there is none."""
        value = self._own.pop(key, None)
        if key in self._base and key not in self._removed:
            self._removed.add(key)
            return self._base[key] if value is None else value
        return value

    def items(self) -> ItemsView[KeyT, ValueT]:
        """The entries of this moment: what comes and goes meanwhile is not seen."""
        self._lay_down()
        return self._base.items()

    def __contains__(self, key: object) -> bool:
        return key in self._own or (key in self._base and key not in self._removed)

    def __len__(self) -> int:
        if not self._base:
            return len(self._own)
        base, removed = self._base, self._removed
        return len(base) - len(removed) + sum(key not in base or key in removed for key in self._own)

    def _lay_down(self) -> None:
        """Makes the entries of this moment the base."""
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
