# SPDX-License-Identifier: Apache-2.0
"""Help for hint functions: the objects of a cluster event with their types.

The queue hands every hint function the old and the new object of an event as plain objects, because one function may be
registered for several kinds. An object of another kind is a fault: it raises, and the queue takes that for QUEUE.
"""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")


def changed(kind: type[K], old: object, new: object) -> tuple[K | None, K]:
    """The objects of an addition (old is None) or an update."""
    return (None if old is None else _expect(kind, old)), _expect(kind, new)


def deleted(kind: type[K], old: object) -> K:
    """The object that was deleted, as last seen."""
    return _expect(kind, old)


def _expect(kind: type[K], obj: object) -> K:
    if not isinstance(obj, kind):
        raise TypeError(f"expected {kind.__name__}, but got {type(obj).__name__}")
    return obj
