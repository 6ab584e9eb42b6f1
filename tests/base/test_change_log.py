# SPDX-License-Identifier: Apache-2.0
"""The log of changes: readers catch up from the position at which they were exact."""

from __future__ import annotations

from steersman.base.change_log import ChangeLog


def test_a_reader_at_the_end_has_nothing_to_look_at() -> None:
    log = ChangeLog[int]()
    log.append(3)
    assert not log.since(log.end)


def test_a_reader_sees_each_changed_row_once() -> None:
    log = ChangeLog[int]()
    log.append(1)
    position = log.end
    for row in (4, 2, 4, 4):
        log.append(row)
    assert set(log.since(position) or ()) == {2, 4}
    assert len(log.since(position) or ()) == 2


def test_a_single_change_is_told_as_it_is() -> None:
    log = ChangeLog[int]()
    position = log.end
    log.append(7)
    assert list(log.since(position) or ()) == [7]


def test_old_entries_are_dropped_and_a_reader_behind_them_is_told_to_start_afresh() -> None:
    log = ChangeLog[int](limit=4)
    for row in range(10):
        log.append(row)
    assert log.base > 0
    assert log.since(0) is None
    assert log.since(log.base - 1) is None


def test_positions_stay_valid_when_older_entries_are_dropped() -> None:
    log = ChangeLog[int](limit=4)
    for row in range(9):
        log.append(row)
    recent = log.since(log.end - 2)
    assert set(recent or ()) == {7, 8}
    assert log.end == 9 == log.base + len(log.entries)


def test_entries_are_reported_in_order_and_as_often_as_they_came() -> None:
    log = ChangeLog[str](limit=4)
    position = log.end
    for device in ("a", "b", "a"):
        log.append(device)
    assert log.each_since(position) == ["a", "b", "a"]
    for device in ("c", "d"):
        log.append(device)
    assert log.each_since(position) is None


def test_a_log_may_go_on_from_the_position_of_another() -> None:
    log = ChangeLog[str](begin=7)
    assert log.each_since(6) is None
    log.append("a")
    assert (log.end, log.each_since(7)) == (8, ["a"])
