# SPDX-License-Identifier: Apache-2.0
"""A single cached value with the version of the data that it was computed from.

A version is any value that changes with the data: the end of a `ChangeLog`, the version of a kind
of objects, an epoch, or a tuple of these. A `Memo` is for values that cannot be updated
incrementally: it recomputes the value when the version differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from steersman.base.graph_copy import GraphCopy, by_reference, copied_attributes, copied_by

ValueT = TypeVar("ValueT")

#: Version of an empty memo: equal to no other version.
_EMPTY = object()


def _copied(copies: GraphCopy, original: Memo[Any]) -> Memo[Any]:
    """Return an empty memo: the copy recomputes its value on first use."""
    made: Memo[Any] = copies.note(original, Memo())
    return made


@copied_by(_copied)
class Memo(Generic[ValueT]):
    """A value that is recomputed when its version changes.

    The compute function is an argument of `get` and not an attribute: a kernel that stored one of
    its own methods here would form a reference cycle and would not be freed immediately, as
    `bounded_cache` requires.
    """

    __slots__ = ("_value", "_version")

    def __init__(self) -> None:
        self._version: object = _EMPTY
        self._value: ValueT

    def get(self, version: object, compute: Callable[[], ValueT]) -> ValueT:
        """Return the value for this version; call `compute` if the stored version differs. If
        `compute` raises, the memo is left empty."""
        if self._version != version:
            self._version = _EMPTY
            self._value = compute()
            self._version = version
        return self._value

    def clear(self) -> None:
        """Discard the value: the next `get` recomputes it."""
        self._version = _EMPTY


@copied_by(GraphCopy.copy_object)
@copied_attributes(_value=by_reference)
class SharedMemo(Memo[ValueT]):
    """A `Memo` of immutable values: forks of a simulation start with the same value and version.
    Versions must consist of numbers from which the fork continues counting."""

    __slots__ = ()
