# SPDX-License-Identifier: Apache-2.0
"""In-process listeners, called at commit time: the fast way from the store to the scheduler.

`Store` publishes every commit here. A listener may write to the store itself; what it writes is delivered after the
commit that it is being told of, so that all listeners see all commits in one order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from steersman.api import Object
from steersman.embedded.history import ADDED, Commit, EventType

Listener: TypeAlias = Callable[[EventType, Object | None, Object | None], None]
"""Called with type, old and new object: no old one when ADDED, no new one when DELETED."""

_NEVER: Final = 2**63


class Subscription:
    """A listener and the version from which on it is told."""

    __slots__ = ("listener", "since")

    def __init__(self, listener: Listener, since: int) -> None:
        self.listener = listener
        self.since = since

    def cancel(self) -> None:
        """The listener is not called again."""
        self.since = _NEVER


class Subscriptions:
    """All listeners, by kind. What a listener raises reaches the writer; the write has happened nevertheless."""

    def __init__(self) -> None:
        self._by_kind: dict[type[Object], tuple[Subscription, ...]] = {}
        #: Those of listeners to all kinds; they are in `_by_kind` as well, for the kinds that have been heard of.
        self._to_all: tuple[Subscription, ...] = ()
        self._undelivered: deque[Commit] = deque()
        self._delivering = False

    def add(
        self, listener: Listener, kinds: Iterable[type[Object]] | None, since: int, initial: Iterable[Object]
    ) -> Subscription:
        """Tells the listener of `initial`, the objects as of the version `since`, and from then on of every commit.

        `kinds` None are all kinds.
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
        """Tells the listeners of the kind, unless a delivery is under way, which then takes it along."""
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
