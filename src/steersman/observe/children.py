"""The series of one metric by the values of its labels. Each is made, and looked up in Prometheus' client, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

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
