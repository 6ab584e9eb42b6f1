# SPDX-License-Identifier: Apache-2.0
"""What has been written is out of the garbage collector's sight."""

from __future__ import annotations

import asyncio
import gc

import pytest
from tests.embedded.stores import make_store

from steersman.api import Namespace, ObjectMeta
from steersman.sandbox import heap


def test_the_heap_is_frozen_after_many_writes_and_thawed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "FREEZE_AFTER_WRITES", 10)
    monkeypatch.setattr(heap, "CHECK_SECONDS", 0.0)
    store = make_store()
    frozen = list[int]()

    async def run() -> None:
        task = asyncio.create_task(heap.keep_collections_short(store))
        await asyncio.sleep(0)
        frozen.append(gc.get_freeze_count())
        for number in range(10):
            store.create(Namespace(metadata=ObjectMeta(name=f"n-{number}")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        frozen.append(gc.get_freeze_count())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    before = gc.get_freeze_count()
    asyncio.run(run())
    assert frozen[0] == before
    assert frozen[1] > before
    assert gc.get_freeze_count() == 0
