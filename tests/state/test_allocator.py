# SPDX-License-Identifier: Apache-2.0
"""Setting the allocator never fails, whatever the C library, and can be repeated."""

from __future__ import annotations

import pytest

from steersman.state.allocator import keep_freed_memory


def test_the_setting_is_taken_or_declined_and_may_be_repeated() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert keep_freed_memory() is False
