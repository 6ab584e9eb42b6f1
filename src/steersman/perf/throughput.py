"""Pods per second: moments at which pods got a node → an average and percentiles over intervals.

`collecting` notes the moments. As upstream, intervals without any pod are counted with the next one that has some. Unlike
there, the average is all pods over all the time, and a run of less than ten seconds is cut into finer intervals than
seconds, because a second would be most of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

INTERVAL_SECONDS: Final = 1.0
FEWEST_INTERVALS: Final = 10
PERCENTILES: Final = (50, 90, 95, 99)
_ROUNDING: Final = 1e-6
"""Of an interval: a moment at its end belongs to it, whatever the last bits say."""


class Throughput(msgspec.Struct, frozen=True):
    """Of one measurement."""

    pods: int
    #: From the beginning until the last pod had its node.
    seconds: float
    average: float
    percentiles: dict[int, float]


def throughput(start: float, moments: Sequence[float]) -> Throughput:
    """`moments`, in ascending order, and `start` are on one scale of seconds."""
    if not moments:
        return Throughput(0, 0.0, 0.0, {})
    seconds = max(moments[-1] - start, 1e-9)
    rates = sorted(_rates(start, moments, min(INTERVAL_SECONDS, seconds / FEWEST_INTERVALS)))
    return Throughput(len(moments), seconds, len(moments) / seconds, {p: percentile(rates, p) for p in PERCENTILES})


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent do not exceed."""
    return ascending[math.ceil(len(ascending) * percent / 100) - 1]


def _rates(start: float, moments: Sequence[float], interval: float) -> list[float]:
    """Pods per second in every whole interval; what is left at the end is too short to tell."""
    intervals = max(1, math.floor((moments[-1] - start) / interval + _ROUNDING))
    counts = [0] * intervals
    for moment in moments:
        place = math.ceil((moment - start) / interval - _ROUNDING) - 1
        if place < intervals:
            counts[max(place, 0)] += 1
    rates: list[float] = []
    empty = 0
    for count in counts:
        if count == 0:
            empty += 1
            continue
        rates += [count / (interval * (empty + 1))] * (empty + 1)
        empty = 0
    return rates
