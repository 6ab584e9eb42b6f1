# SPDX-License-Identifier: Apache-2.0
"""Garbage collections of a sandbox stay short, however large the cluster becomes.

A full collection looks at every dict of every document and holds the loop meanwhile: a second with 20,000 pods. Documents and
structs refer to nothing that refers to them and go without it. So what has been written is put out of the collector's sight
again and again. Garbage in circles that is caught in such a moment stays until the sandbox ends; the young objects, among
which it is to be expected, are collected just before.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final

from steersman.embedded import Store
from steersman.host import freeze_heap, unfreeze_heap

FREEZE_AFTER_WRITES: Final = 2000
LOOK_SECONDS: Final = 0.5
_YOUNG: Final = 1
"""The oldest generation of the collector that is collected before."""


async def keep_collections_short(store: Store) -> None:
    """Freezes the heap again and again until it is cancelled; looks at real time, whatever the clock of the cluster does."""
    frozen_at = 0
    try:
        while True:
            if store.version - frozen_at >= FREEZE_AFTER_WRITES:
                gc.collect(_YOUNG)
                freeze_heap()
                frozen_at = store.version
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        unfreeze_heap()
