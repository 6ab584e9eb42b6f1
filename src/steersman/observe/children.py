# SPDX-License-Identifier: Apache-2.0
"""The series of one metric by the values of its labels. Each is made, and looked up in Prometheus' client, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from prometheus_client import Counter

SeriesT = TypeVar("SeriesT")


class Children(dict[tuple[str, ...], SeriesT], Generic[SeriesT]):
    """Keys are in the order of `labels`."""

    def __init__(self, name: str, labels: Sequence[str], make: Callable[[tuple[str, ...]], SeriesT]) -> None:
        super().__init__()
        self.name = name
        self.labels = tuple(labels)
        self._make = make

    def __missing__(self, values: tuple[str, ...]) -> SeriesT:
        # In one step: another thread may be about to make the same series.
        return self.setdefault(values, self._make(values))


class CountedUp:
    """Counters that follow numbers which somebody else counts."""

    def __init__(self, counters: Children[Counter]) -> None:
        self._counters = counters
        self._reached: dict[tuple[str, ...], int] = {}

    def to(self, counts: Iterable[tuple[tuple[str, ...], int]]) -> None:
        for labels, number in counts:
            before = self._reached.get(labels, 0)
            if number != before:
                self._counters[labels].inc(number - before)
                self._reached[labels] = number
