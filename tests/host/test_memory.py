# SPDX-License-Identifier: Apache-2.0
"""Memory is tuned whatever the C library; a frozen heap thaws again."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from steersman.scheduler.host.memory import (
    freeze_heap,
    frozen_heap,
    keep_freed_memory,
    trim_free_memory,
    unfreeze_heap,
)


def test_the_setting_is_taken_or_declined_and_may_be_repeated() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert keep_freed_memory() is False
    assert trim_free_memory() is False


def test_a_frozen_heap_thaws_at_the_end() -> None:
    with frozen_heap():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_a_heap_that_is_frozen_within_a_frozen_heap_thaws_with_the_outer_one() -> None:
    before = gc.get_threshold()
    with frozen_heap():
        frozen, within = gc.get_freeze_count(), gc.get_threshold()
        with frozen_heap():
            pass
        assert (gc.get_freeze_count(), gc.get_threshold()) == (frozen, within) != (0, before)
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, before)


def test_what_came_since_is_frozen_too() -> None:
    freeze_heap()
    frozen = gc.get_freeze_count()
    added: list[list[int]] = [[] for _ in range(300)]
    freeze_heap()
    assert gc.get_freeze_count() >= frozen + len(added)
    unfreeze_heap()
    assert gc.get_freeze_count() == 0


def test_a_frozen_heap_is_examined_less_often() -> None:
    before = gc.get_threshold()
    with frozen_heap():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


FRAGMENTED = """
from steersman.scheduler.host import trim_free_memory, keep_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

keep_freed_memory()
assert not trim_free_memory(), "there is nothing to give back"
blocks = [bytearray(20_000) for _ in range(5_000)]
del blocks[::2], blocks[::2]
full = resident()
assert trim_free_memory()
print(full - resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not have the functions")
def test_what_is_free_between_blocks_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30_000_000
