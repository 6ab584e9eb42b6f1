# SPDX-License-Identifier: Apache-2.0
"""Helpers for hint functions: the objects of a cluster event with their types.

The queue passes the old and the new object of an event as plain objects, because one function may
be registered for several kinds. An object of an unexpected kind raises, which the queue treats as
QUEUE.
"""

from __future__ import annotations

from typing import TypeVar

from steersman.framework.events import QueueingHint

K = TypeVar("K")


def changed(kind: type[K], old: object, new: object) -> tuple[K | None, K]:
    """Return the objects of an addition (old is None) or an update."""
    return (None if old is None else _expect(kind, old)), _expect(kind, new)


def deleted(kind: type[K], old: object) -> K:
    """Return the deleted object, in its last known state."""
    return _expect(kind, old)


def queue_if(helps: bool) -> QueueingHint:
    """Return QUEUE if the event may help the pod."""
    return QueueingHint.QUEUE if helps else QueueingHint.SKIP


def _expect(kind: type[K], obj: object) -> K:
    if not isinstance(obj, kind):
        raise TypeError(f"expected {kind.__name__}, but got {type(obj).__name__}")
    return obj
