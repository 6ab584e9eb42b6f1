"""The scheduler's metrics with finer buckets: kube-scheduler's begin at a millisecond, which is where ours end.

`MeasuredScheduler` writes them; `latencies` reads what came in between two moments.
"""

from __future__ import annotations

from typing import Final

from steersman.observe import Metrics
from steersman.observe.children import Children
from steersman.observe.histogram import Histogram
from steersman.observe.metrics import exponential

BOUNDS: Final = exponential(1e-6, 1.1, 190)
"""Seconds, from a microsecond to a minute; two neighbours are 10 % apart."""


class FineMetrics(Metrics):
    """Names and labels are the same; histograms of durations have `BOUNDS`."""

    def histograms(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str, kind: type[Histogram] = Histogram
    ) -> Children[Histogram]:
        return super().histograms(name, text, BOUNDS if name.endswith("_seconds") else buckets, *labels, kind=kind)
