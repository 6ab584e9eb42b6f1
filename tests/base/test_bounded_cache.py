# SPDX-License-Identifier: Apache-2.0
"""Caches that limit their entries and free unused values."""

from __future__ import annotations

import gc

import pytest

from steersman.base.bounded_cache import LruCache, WeakValueCache


class Value:
    def __init__(self, name: str = "") -> None:
        self.name = name


class TestRecentTable:
    def test_get_returns_what_was_put(self) -> None:
        cache: LruCache[str, int] = LruCache(4)
        cache.put("a", 1)
        assert cache.get("a") == 1
        assert cache.get("b") is None

    @pytest.mark.parametrize("limit", [1, 2, 7, 64])
    def test_the_limit_is_never_exceeded(self, limit: int) -> None:
        cache: LruCache[int, int] = LruCache(limit)
        for number in range(1000):
            cache.put(number, number + 1)
            assert len(cache) <= max(limit, 2)

    def test_recently_used_values_stay(self) -> None:
        cache: LruCache[int, str] = LruCache(20)
        cache.put(-1, "asked for")
        for number in range(1000):
            cache.put(number, "never again")
            if number % 8 == 0:
                assert cache.get(-1) == "asked for"
        assert cache.get(0) is None

    def test_the_young_generation_stays_the_same_dict(self) -> None:
        cache: LruCache[int, int] = LruCache(4)
        young = cache.young
        for number in range(100):
            cache.put(number, number)
            assert young[number] == number
        assert cache.young is young

    def test_clear_removes_all_values(self) -> None:
        cache: LruCache[int, int] = LruCache(2)
        for number in range(3):
            cache.put(number, 1)
        cache.clear()
        assert len(cache) == 0
        assert [cache.get(number) for number in range(3)] == [None] * 3


class TestSharedTable:
    def test_referenced_values_stay(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(2)
        held = Value("held")
        cache.put(-1, held)
        for number in range(100):
            cache.put(number, Value())
        assert cache.get(-1) is held
        assert held in list(cache.values())

    def test_a_large_value_is_freed_with_its_last_reference(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(4, is_large=lambda value: value.name == "large")
        large = Value("large")
        cache.put(1, large)
        cache.put(2, Value("small"))
        assert cache.get(1) is large
        del large
        assert cache.get(1) is None
        assert [value.name for value in cache.values()] == ["small"]

    def test_unreferenced_values_are_freed_without_the_garbage_collector(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(4)
        gc.disable()
        try:
            for number in range(100):
                cache.put(number, Value())
            assert len(cache) <= 4
        finally:
            gc.enable()

    def test_spare_values_are_found(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(4)
        cache.put(1, Value("spare"))
        found = cache.get(1)
        assert found is not None
        assert found.name == "spare"

    def test_a_freed_value_can_be_put_again(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(2)
        for number in range(10):
            cache.put(number, Value())
        assert cache.get(0) is None
        again = Value("again")
        cache.put(0, again)
        assert cache.get(0) is again

    def test_peek_does_not_mark_a_value_as_recently_used(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(4)
        cache.put(-1, Value())
        for number in range(10):
            cache.peek(-1)
            cache.put(number, Value())
        assert cache.peek(-1) is None

    def test_on_freed_is_called_with_the_key_of_each_freed_value(self) -> None:
        freed: list[int] = []
        cache: WeakValueCache[int, Value] = WeakValueCache(2, freed.append)
        held = Value()
        cache.put(-1, held)
        for number in range(10):
            cache.put(number, Value())
        cache.sweep()
        assert sorted([*freed, *cache]) == sorted([-1, *range(10)])
        assert held is cache.peek(-1)

    def test_values_may_be_freed_during_an_iteration(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(2)
        held = [Value() for _ in range(10)]
        for number, value in enumerate(held):
            cache.put(number, value)
        cache.drop_spares()
        seen = 0
        for _ in cache.items():
            seen += 1
            held.clear()
        assert seen >= 1
        assert len(cache) <= 2

    def test_after_clearing_nothing_is_found_not_even_what_is_referred_to(self) -> None:
        cache: WeakValueCache[int, Value] = WeakValueCache(2)
        held = Value()
        cache.put(1, held)
        cache.clear()
        assert cache.get(1) is None
        assert len(cache) == 0
        del held
        assert len(cache) == 0
