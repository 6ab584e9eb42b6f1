# SPDX-License-Identifier: Apache-2.0
"""Which objects changed since a version."""

from __future__ import annotations

from steersman.api import PersistentVolume, StorageClass
from steersman.scheduler.state.objects import HISTORY, ObjectStore
from steersman.testing import make_volume


def test_readers_learn_what_changed_since_they_looked() -> None:
    store = ObjectStore()
    store.put(make_volume("a").obj())
    seen = store.version(PersistentVolume)
    assert store.changed_since(PersistentVolume, seen) == set()
    store.put(make_volume("b").obj())
    store.remove(make_volume("a").obj())
    store.put(make_volume("b").obj())
    assert store.changed_since(PersistentVolume, seen) == {"a", "b"}
    assert store.changed_since(StorageClass, 0) == set()


def test_what_was_not_there_cannot_be_removed() -> None:
    store = ObjectStore()
    assert store.remove(make_volume("a").obj()) is None
    assert store.version(PersistentVolume) == 0


def test_a_reader_that_lags_too_far_behind_starts_afresh() -> None:
    store = ObjectStore()
    for index in range(2 * HISTORY + 1):
        store.put(make_volume(f"v{index % 3}").obj())
    assert store.version(PersistentVolume) == 2 * HISTORY + 1
    assert store.changed_since(PersistentVolume, 0) is None
    assert store.changed_since(PersistentVolume, HISTORY) == {"v0", "v1", "v2"}
    assert store.changed_since(PersistentVolume, 2 * HISTORY) == {f"v{2 * HISTORY % 3}"}
