# SPDX-License-Identifier: Apache-2.0
"""What the queue tells a measured scheduler: its counts, and how long plugins' queueing hints take."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from steersman import api
from steersman.framework.events import ClusterEvent, HintFn, QueueingHint
from steersman.observe.metrics import Metrics
from steersman.queue import CountingQueueMetrics

#: Value of the label `hint` for one that raised.
FAILED: Final = "Error"


class MeasuredQueueMetrics(CountingQueueMetrics):
    """A `QueueMetrics`."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__()
        self._seconds = metrics.hint_seconds

    def measured_hint(self, plugin: str, event: ClusterEvent, hint: HintFn, /) -> HintFn:
        seconds, label = self._seconds, event.label

        def timed(pod: api.Pod, old: object, new: object) -> QueueingHint:
            began = perf_counter()
            try:
                answer = hint(pod, old, new)
            except Exception:
                seconds[plugin, label, FAILED].observe(perf_counter() - began)
                raise
            seconds[plugin, label, answer.value].observe(perf_counter() - began)
            return answer

        return timed
