# SPDX-License-Identifier: Apache-2.0
"""Load curves: how much work there is over time, for autoscalers in a cluster without metrics.

An annotation of the HorizontalPodAutoscaler, or of its target, says what all pods together have to do, and from when on:

    steersman.dev/load: "0s=200m, 5m=900m, 10m=300m"

Times count from the creation of the annotated object. The load is that of the metric: cores for cpu, bytes for memory, whatever
other metrics count. `steersman.dev/load-<metric>` is the load of one metric where there are several. The load is shared
evenly by the pods that are ready.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from steersman.api import quantity
from steersman.errors import InputError

LOAD: Final = "steersman.dev/load"
NOT_A_CURVE: Final = "is no load curve"
HINT: Final = 'write times and amounts, such as "0s=200m, 5m=900m, 10m=300m"'
_DURATION: Final = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?")


class LoadCurve(NamedTuple):
    """Thousandths of a unit from so many seconds on, in the order of time."""

    times: tuple[float, ...]
    amounts: tuple[int, ...]

    @property
    def end(self) -> float:
        """When it changes for the last time."""
        return self.times[-1]

    def at(self, seconds: float) -> int:
        """The load at a time; that of the first point before it."""
        return self.amounts[max(0, bisect_right(self.times, seconds) - 1)]


def load_curve(annotations: Mapping[str, str], metric: str) -> LoadCurve | None:
    """The curve of a metric in an object's annotations; raises `InputError` that names the annotation and its value."""
    for name in (f"{LOAD}-{metric}", LOAD):
        if name in annotations:
            return _located(name, annotations[name])
    return None


def _located(name: str, text: str) -> LoadCurve:
    try:
        return parse_curve(text)
    except InputError as error:
        raise InputError(
            f"{NOT_A_CURVE}: {error}", field=f"metadata.annotations[{name}]", value=text, hint=HINT
        ) from error


@lru_cache(maxsize=256)
def parse_curve(text: str) -> LoadCurve:
    """Reads `time=amount` pairs; raises `InputError`."""
    points = dict[float, int]()
    for part in text.split(","):
        time, equals, amount = (piece.strip() for piece in part.partition("="))
        match = _DURATION.fullmatch(time)
        if not equals or match is None or not time:
            raise InputError(f'"{part.strip()}" is not of the form time=amount')
        hours, minutes, seconds = (int(piece or 0) for piece in match.groups())
        points[hours * 3600.0 + minutes * 60 + seconds] = quantity.milli_value(quantity.parse(amount))
    times = tuple(sorted(points))
    return LoadCurve(times, tuple(points[time] for time in times))
