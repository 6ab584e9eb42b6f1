# SPDX-License-Identifier: Apache-2.0
"""Memory is tuned whatever the C library; a frozen heap thaws again."""

from __future__ import annotations

import gc

import pytest

from steersman.host.memory import freeze_heap, frozen_heap, keep_freed_memory, unfreeze_heap


def test_the_setting_is_taken_or_declined_and_may_be_repeated() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert keep_freed_memory() is False


def test_a_frozen_heap_thaws_at_the_end() -> None:
    with frozen_heap():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_a_heap_that_is_frozen_stays_as_it_is() -> None:
    freeze_heap()
    frozen = gc.get_freeze_count()
    added = [object() for _ in range(3)]
    freeze_heap()
    assert (gc.get_freeze_count(), len(added)) == (frozen, 3)
    unfreeze_heap()
    assert gc.get_freeze_count() == 0
