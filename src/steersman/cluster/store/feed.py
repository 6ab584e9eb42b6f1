# SPDX-License-Identifier: Apache-2.0
"""Feed from the store to the scheduler: replaces the reflectors of a real cluster, in-process."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api
from steersman.cluster.store.history import EventType
from steersman.cluster.store.store import Store
from steersman.cluster.store.subscriptions import Subscription
from steersman.framework import WATCHED_KINDS, EventSink


def feed(store: Store, sink: EventSink, kinds: Iterable[type[api.Object]] = WATCHED_KINDS) -> Subscription:
    """Pass all objects to `sink`, kind by kind, then every change as it happens."""
    changed, deleted = sink.changed, sink.deleted

    def tell(_: EventType, old: api.Object | None, new: api.Object | None) -> None:
        if new is not None:
            changed(new)
        elif old is not None:
            deleted(old)

    kinds = tuple(kinds)
    for kind in kinds:
        sink.expect(kind, len(store.objects(kind)))
    return store.subscribe(tell, kinds)
