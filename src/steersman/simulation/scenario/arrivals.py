# SPDX-License-Identifier: Apache-2.0
"""Arrival processes of generators: Poisson processes, bursts, day curves and recorded lists.

Each process yields ascending times in seconds since the start of the scenario. It has its own
random source, which does not depend on other generators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, Protocol

from steersman.base import InputError
from steersman.cluster.kubelets import RandomDuration
from steersman.simulation.scenario.document import Arrivals, Bursts, DayCurve
from steersman.simulation.scenario.recorded_arrivals import Arrival, recorded_arrivals
from steersman.simulation.scenario.times import random_seconds, seconds

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
_CLOCK_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


class ArrivalProcess(Protocol):
    """Iterator of arrivals after a time, in chronological order; may be infinite."""

    def arrivals(self, since: float, seed: str) -> Iterator[Arrival]: ...


class PoissonArrivals(NamedTuple):
    """A constant rate per second."""

    rate: float

    def arrivals(self, since: float, seed: str) -> Iterator[Arrival]:
        chance, now = Random(seed), since
        while True:
            now += chance.expovariate(self.rate)
            yield Arrival(now)


class BurstArrivals(NamedTuple):
    """Repeated bursts of `size` arrivals within `spread` seconds; the first is immediate."""

    every: RandomDuration
    size: int
    spread: float

    def arrivals(self, since: float, seed: str) -> Iterator[Arrival]:
        chance, now, burst = Random(seed), since, 0
        while True:
            offsets = (
                sorted(chance.uniform(0, self.spread) for _ in range(self.size)) if self.spread else [0.0] * self.size
            )
            yield from (Arrival(now + offset) for offset in offsets)
            now += max(self.every.seconds(f"{seed}/{burst}"), self.spread)
            burst += 1


class DayArrivals(NamedTuple):
    """A rate per second that depends on the time of day; thins a process with the highest rate."""

    #: (seconds since midnight, rate), ascending; the last point is the first one of the next day.
    points: tuple[tuple[float, float], ...]
    #: Seconds since midnight at the start of the scenario.
    begins: float

    def arrivals(self, since: float, seed: str) -> Iterator[Arrival]:
        chance, now = Random(seed), since
        highest = max(rate for _, rate in self.points)
        while True:
            now += chance.expovariate(highest)
            if chance.random() * highest < self.rate(now):
                yield Arrival(now)

    def rate(self, now: float) -> float:
        """Return the rate per second, interpolated between the points."""
        time = (self.begins + now) % DAY
        if time < self.points[0][0]:
            time += DAY
        for (before, low), (after, high) in pairwise(self.points):
            if before <= time <= after:
                return low + (high - low) * (time - before) / (after - before) if after > before else low
        return self.points[-1][1]


class ReplayedArrivals(NamedTuple):
    """Arrivals from a file."""

    recorded: tuple[Arrival, ...]

    def arrivals(self, since: float, seed: str) -> Iterator[Arrival]:
        return (arrival._replace(at=since + arrival.at) for arrival in self.recorded)


def arrival_process(document: Arrivals, path: str, base: Path) -> ArrivalProcess:
    """Return the process described by the document. Raises `InputError`."""
    chosen = [name for name in Arrivals.__struct_fields__ if getattr(document, name) is not None]
    if len(chosen) != 1:
        known = ", ".join(Arrivals.__struct_fields__)
        raise InputError(f"names {len(chosen)} kinds of arrivals", field=path, hint=f"write one of {known}")
    if document.poisson is not None:
        return PoissonArrivals(document.poisson.per_hour / HOUR)
    if document.bursts is not None:
        return _bursts(document.bursts, f"{path}.bursts")
    if document.day is not None:
        return _day(document.day, f"{path}.day")
    assert document.replay is not None
    return ReplayedArrivals(tuple(recorded_arrivals(document.replay, base / document.replay.file, f"{path}.replay")))


def _bursts(document: Bursts, path: str) -> BurstArrivals:
    every = random_seconds(document.every, f"{path}.every")
    if every.is_fixed and not every.parameters[0]:
        raise InputError(
            "must be more than 0", field=f"{path}.every", value=document.every, hint="arrivals would never end"
        )
    return BurstArrivals(every, document.size, seconds(document.spread, f"{path}.spread"))


def _day(document: DayCurve, path: str) -> DayArrivals:
    points = [
        (_time_of_day(time, f"{path}.perHour"), _rate(rate, f"{path}.perHour[{time}]"))
        for time, rate in document.per_hour.items()
    ]
    if not any(rate for _, rate in points):
        raise InputError("has no rate above 0", field=f"{path}.perHour", value=document.per_hour)
    points.sort()
    closed = (*points, (points[0][0] + DAY, points[0][1]))
    return DayArrivals(closed, _time_of_day(document.begins, f"{path}.begins"))


def _rate(per_hour: float, path: str) -> float:
    if not 0 <= per_hour < 1e9:
        raise InputError("is not a rate", field=path, value=per_hour, hint="write how many there are in an hour")
    return per_hour / HOUR


def _time_of_day(text: str, path: str) -> float:
    match = _CLOCK_TIME.fullmatch(text)
    if match is None:
        raise InputError(
            "is not a time of day", field=path, value=text, hint='write hours and minutes, such as "09:00"'
        )
    return int(match[1]) * HOUR + int(match[2]) * 60.0
