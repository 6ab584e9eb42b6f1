# SPDX-License-Identifier: Apache-2.0
"""Short garbage collections of a sandbox, independent of the size of the cluster.

A full collection visits every dict of every document and blocks the loop, a second with 20,000
pods. Documents and structs have no reference cycles, so the heap is frozen periodically. Frozen
cyclic garbage stays until the end; most of it is young and collected just before.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final

from steersman.cluster.store import Store
from steersman.scheduler.host import freeze_heap, unfreeze_heap

FREEZE_AFTER_WRITES: Final = 2000
CHECK_SECONDS: Final = 0.5
_OLDEST_GENERATION: Final = 1
"""The oldest generation of the collector that is collected before."""


async def keep_collections_short(store: Store) -> None:
    """Freeze the heap periodically, in real time, until the task is cancelled."""
    frozen_at = 0
    try:
        while True:
            if store.version - frozen_at >= FREEZE_AFTER_WRITES:
                gc.collect(_OLDEST_GENERATION)
                freeze_heap()
                frozen_at = store.version
            await asyncio.sleep(CHECK_SECONDS)
    finally:
        unfreeze_heap()
