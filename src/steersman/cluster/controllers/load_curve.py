# SPDX-License-Identifier: Apache-2.0
"""Load curves: load over time, for autoscalers in a cluster without metrics.

An annotation of the HorizontalPodAutoscaler or its target has the total load of all pods by time:

    steersman.dev/load: "0s=200m, 5m=900m, 10m=300m"

Times are relative to the creation of the annotated object. Units are the metric's: cores for cpu,
bytes for memory, anything for other metrics. `steersman.dev/load-<metric>` is the load of a single
metric. Ready pods share the load evenly.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from steersman.api import quantity
from steersman.base import InputError

LOAD: Final = "steersman.dev/load"
NOT_A_CURVE: Final = "is not a load curve"
HINT: Final = 'write times and amounts, such as "0s=200m, 5m=900m, 10m=300m"'
_DURATION: Final = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?")


class LoadCurve(NamedTuple):
    """Loads in thousandths of a unit, by the second from which they apply, in order of time."""

    times: tuple[float, ...]
    amounts: tuple[int, ...]

    @property
    def end(self) -> float:
        """Time of the last change."""
        return self.times[-1]

    def load_at(self, seconds: float) -> int:
        """Return the load at a time; before the first point, that point's load."""
        return self.amounts[max(0, bisect_right(self.times, seconds) - 1)]


def load_curve(annotations: Mapping[str, str], metric: str) -> LoadCurve | None:
    """Return the curve for a metric in the annotations, else the one for all metrics."""
    found = annotated_curve(annotations, metric)
    return _located(LOAD, annotations[LOAD]) if found is None and LOAD in annotations else found


def annotated_curve(annotations: Mapping[str, str], metric: str) -> LoadCurve | None:
    """Return the curve of one metric. Raises `InputError` with annotation and value."""
    name = f"{LOAD}-{metric}"
    return _located(name, annotations[name]) if name in annotations else None


def _located(name: str, text: str) -> LoadCurve:
    try:
        return parse_curve(text)
    except InputError as error:
        raise InputError(
            f"{NOT_A_CURVE}: {error}", field=f"metadata.annotations[{name}]", value=text, hint=HINT
        ) from error


@lru_cache(maxsize=256)
def parse_curve(text: str) -> LoadCurve:
    """Parse `time=amount` pairs. Raises `InputError`."""
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
