# SPDX-License-Identifier: Apache-2.0
"""A value that follows from others, with the stamp of those others that it was computed for.

A stamp is whatever moves when the others do: the end of a `ChangeLog`, the version of a kind of objects, an epoch, or several
of them as a tuple. Where a value cannot catch up entry by entry, it is computed again when its stamp has moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from steersman.graph_copy import GraphCopy, by_reference, copied_attributes, copied_by

ValueT = TypeVar("ValueT")

#: The stamp of what was never computed, or was forgotten: equal to no other.
_NEVER = object()


def _copied(copies: GraphCopy, original: Derived[Any]) -> Derived[Any]:
    """Is computed again when somebody asks."""
    made: Derived[Any] = copies.note(original, Derived())
    return made


@copied_by(_copied)
class Derived(Generic[ValueT]):
    """Invariant: the value was computed when the stamp was what is kept with it.

    The computation is given with every question and not kept: a kernel that kept a method of its own here would refer to
    itself, and what nobody else refers to would not be freed at once (`bounded_table`).
    """

    __slots__ = ("_stamp", "_value")

    def __init__(self) -> None:
        self._stamp: object = _NEVER
        self._value: ValueT

    def at(self, stamp: object, compute: Callable[[], ValueT]) -> ValueT:
        """The value for this stamp, computed unless that is the stamp of the last computation. One that breaks off leaves
        nothing behind, and one that moves the stamp is done again."""
        if self._stamp != stamp:
            self._stamp = _NEVER
            self._value = compute()
            self._stamp = stamp
        return self._value

    def forget(self) -> None:
        """The next question computes the value whatever the stamp is."""
        self._stamp = _NEVER


@copied_by(GraphCopy.copy_object)
@copied_attributes(_value=by_reference)
class SharedDerived(Derived[ValueT]):
    """A `Derived` for values that nobody changes once they are computed: copies of a simulation begin with the same value and
    stamp. A stamp has to be made of numbers that the copy goes on counting from."""

    __slots__ = ()
