# SPDX-License-Identifier: Apache-2.0
"""From the store to the scheduler: what the reflectors of a real cluster's API do, without the network in between."""

from __future__ import annotations

from collections.abc import Iterable

from steersman import api
from steersman.embedded.history import EventType
from steersman.embedded.store import Store
from steersman.embedded.subscriptions import Subscription
from steersman.framework.watching import WATCHED_KINDS, EventSink


def feed(store: Store, sink: EventSink, kinds: Iterable[type[api.Object]] = WATCHED_KINDS) -> Subscription:
    """Tells `sink` of all objects, kind after kind, and from then on of every change at once."""
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
