# SPDX-License-Identifier: Apache-2.0
"""A second scheduler with the objects of one time, for what-if questions of the page. Its decisions
are discarded, and no kubelet or controller acts on its objects."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import msgspec

from steersman import api
from steersman.base import ManualClock
from steersman.cluster.store import Store, StoreReader, feed
from steersman.scheduler.assembly import SchedulerOptions
from steersman.scheduler.what_if import WhatIfScheduler, isolated_scheduler

_replace = msgspec.structs.replace


def second_scheduler(
    objects: Iterable[api.Object], options: SchedulerOptions, at: float = 0.0
) -> Generator[None, None, WhatIfScheduler]:
    """Return a scheduler with these objects, at this time; yields after every object."""
    store = Store(clock := ManualClock(at))
    reader = StoreReader(store)
    scheduler = isolated_scheduler(options, clock, reader=reader)
    reader.serve(scheduler.known_kinds)
    feed(store, scheduler.ingest, scheduler.watched_kinds)
    for obj in objects:
        # The store assigns versions itself.
        store.create(_replace(obj, metadata=_replace(obj.metadata, resource_version="")))
        yield
    scheduler.background.refresh_now()
    return WhatIfScheduler(scheduler)
