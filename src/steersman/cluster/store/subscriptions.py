# SPDX-License-Identifier: Apache-2.0
"""In-process subscriptions, called at commit time: the fast path from the store to the scheduler.

`Store` publishes every commit here. Writes by a listener are delivered after the current commit, so
that all listeners receive commits in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from steersman.api import Object
from steersman.cluster.store.history import ADDED, Commit, EventType

Listener: TypeAlias = Callable[[EventType, Object | None, Object | None], None]
"""Called with type, old and new object: `old` is None for ADDED, `new` for DELETED."""

_NEVER: Final = 2**63


class Subscription:
    """Listener and the version after which it is notified."""

    __slots__ = ("listener", "since")

    def __init__(self, listener: Listener, since: int) -> None:
        self.listener = listener
        self.since = since

    def cancel(self) -> None:
        """Stop notifying the listener."""
        self.since = _NEVER


class Subscriptions:
    """Subscriptions by kind. Exceptions of a listener propagate to the writer after the write."""

    def __init__(self) -> None:
        self._by_kind: dict[type[Object], tuple[Subscription, ...]] = {}
        #: Subscriptions to all kinds, which are also in `_by_kind` for known kinds.
        self._to_all: tuple[Subscription, ...] = ()
        self._undelivered: deque[Commit] = deque()
        self._delivering = False

    def add(
        self, listener: Listener, kinds: Iterable[type[Object]] | None, since: int, initial: Iterable[Object]
    ) -> Subscription:
        """Call the listener with `initial`, the objects at version `since`, then with every later
        commit.

        `kinds` None means all kinds.
        """
        added = Subscription(listener, since)
        for kind in tuple(self._by_kind) if kinds is None else kinds:
            self._by_kind[kind] = (*_active(self._by_kind.get(kind, self._to_all)), added)
        if kinds is None:
            self._to_all = (*_active(self._to_all), added)
        outermost, self._delivering = not self._delivering, True
        try:
            for obj in initial:
                listener(ADDED, None, obj)
        finally:
            self._delivering = not outermost
        if outermost:
            self._deliver()
        return added

    def publish(self, commit: Commit) -> None:
        """Notify the kind's listeners; during a delivery, queue the commit for it."""
        if commit.kind not in self._by_kind:
            if not self._to_all:
                return
            self._by_kind[commit.kind] = self._to_all
        self._undelivered.append(commit)
        if not self._delivering:
            self._deliver()

    def _deliver(self) -> None:
        undelivered = self._undelivered
        self._delivering = True
        try:
            while undelivered:
                commit = undelivered.popleft()
                version, what, old, new = commit.version, commit.type, commit.old, commit.new
                for subscription in self._by_kind[commit.kind]:
                    if subscription.since < version:
                        subscription.listener(what, old, new)
        finally:
            self._delivering = False


def _active(subscriptions: Iterable[Subscription]) -> Iterable[Subscription]:
    return (subscription for subscription in subscriptions if subscription.since != _NEVER)
