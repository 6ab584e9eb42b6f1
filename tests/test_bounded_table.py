# SPDX-License-Identifier: Apache-2.0
"""Tables that are bounded and free what nobody uses."""

from __future__ import annotations

import gc

import pytest

from steersman.bounded_table import RecentTable, SharedTable


class Value:
    def __init__(self, name: str = "") -> None:
        self.name = name


class TestRecentTable:
    def test_what_was_put_in_is_found(self) -> None:
        table: RecentTable[str, int] = RecentTable(4)
        table.put("a", 1)
        assert table.get("a") == 1
        assert table.get("b") is None

    @pytest.mark.parametrize("most", [1, 2, 7, 64])
    def test_there_are_never_more_than_it_may_hold(self, most: int) -> None:
        table: RecentTable[int, int] = RecentTable(most)
        for number in range(1000):
            table.put(number, number + 1)
            assert len(table) <= max(most, 2)

    def test_what_is_asked_for_now_and_then_stays(self) -> None:
        table: RecentTable[int, str] = RecentTable(20)
        table.put(-1, "asked for")
        for number in range(1000):
            table.put(number, "never again")
            if number % 8 == 0:
                assert table.get(-1) == "asked for"
        assert table.get(0) is None

    def test_the_younger_half_stays_one_object(self) -> None:
        table: RecentTable[int, int] = RecentTable(4)
        young = table.young
        for number in range(100):
            table.put(number, number)
            assert young[number] == number
        assert table.young is young

    def test_it_can_be_cleared(self) -> None:
        table: RecentTable[int, int] = RecentTable(2)
        for number in range(3):
            table.put(number, 1)
        table.clear()
        assert len(table) == 0
        assert [table.get(number) for number in range(3)] == [None] * 3


class TestSharedTable:
    def test_a_value_that_somebody_refers_to_stays(self) -> None:
        table: SharedTable[int, Value] = SharedTable(2)
        held = Value("held")
        table.put(-1, held)
        for number in range(100):
            table.put(number, Value())
        assert table.get(-1) is held
        assert held in list(table.values())

    def test_a_large_value_goes_with_the_last_one_who_refers_to_it(self) -> None:
        table: SharedTable[int, Value] = SharedTable(4, is_large=lambda value: value.name == "large")
        large = Value("large")
        table.put(1, large)
        table.put(2, Value("small"))
        assert table.get(1) is large
        del large
        assert table.get(1) is None
        assert [value.name for value in table.values()] == ["small"]

    def test_others_are_freed_at_once_without_the_garbage_collector(self) -> None:
        table: SharedTable[int, Value] = SharedTable(4)
        gc.disable()
        try:
            for number in range(100):
                table.put(number, Value())
            assert len(table) <= 4
        finally:
            gc.enable()

    def test_spare_ones_are_found_again(self) -> None:
        table: SharedTable[int, Value] = SharedTable(4)
        table.put(1, Value("spare"))
        found = table.get(1)
        assert found is not None
        assert found.name == "spare"

    def test_a_value_that_was_freed_can_be_put_in_again(self) -> None:
        table: SharedTable[int, Value] = SharedTable(2)
        for number in range(10):
            table.put(number, Value())
        assert table.get(0) is None
        again = Value("again")
        table.put(0, again)
        assert table.get(0) is again

    def test_looking_does_not_count_as_asking(self) -> None:
        table: SharedTable[int, Value] = SharedTable(4)
        table.put(-1, Value())
        for number in range(10):
            table.peek(-1)
            table.put(number, Value())
        assert table.peek(-1) is None

    def test_whoever_wants_to_know_is_told_what_was_freed(self) -> None:
        freed: list[int] = []
        table: SharedTable[int, Value] = SharedTable(2, freed.append)
        held = Value()
        table.put(-1, held)
        for number in range(10):
            table.put(number, Value())
        table.sweep()
        assert sorted([*freed, *table]) == sorted([-1, *range(10)])
        assert held is table.peek(-1)

    def test_values_may_be_freed_while_somebody_goes_through_them(self) -> None:
        table: SharedTable[int, Value] = SharedTable(2)
        held = [Value() for _ in range(10)]
        for number, value in enumerate(held):
            table.put(number, value)
        table.forget()
        seen = 0
        for _ in table.items():
            seen += 1
            held.clear()
        assert seen >= 1
        assert len(table) <= 2

    def test_after_clearing_nothing_is_found_not_even_what_is_referred_to(self) -> None:
        table: SharedTable[int, Value] = SharedTable(2)
        held = Value()
        table.put(1, held)
        table.clear()
        assert table.get(1) is None
        assert len(table) == 0
        del held
        assert len(table) == 0
