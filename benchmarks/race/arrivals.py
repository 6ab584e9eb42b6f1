# SPDX-License-Identifier: Apache-2.0
"""Pods that come while a scheduler runs: bursts, and one by one at a steady rate. What is measured is how long they wait.

`workloads` has those that wait for a scheduler before it starts, where throughput is what counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from benchmarks.race.workloads import SERVED, JsonObject, pod_manifest

_BURST: Final = 15
_BURSTS: Final = 30
_STEADY_SECONDS: Final = 10
_AT_ONCE: Final = 8
"""Pods of a steady stream that may be on their way at once, each created over a connection of its own."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Groups of pods, one group after the other at fixed times, whether or not those before have been scheduled."""

    name: str
    #: From the number of a pod, which no other pod has.
    pod: Callable[[int], JsonObject]
    #: How many pods come at once.
    together: int
    #: Seconds from one group to the next.
    every: float
    groups: int

    @property
    def pods(self) -> int:
        return self.together * self.groups

    def group(self, number: int) -> list[JsonObject]:
        """The pods of a group."""
        first = number * self.together
        return [self.pod(index) for index in range(first, first + self.together)]

    def send(
        self,
        create: Callable[[JsonObject], object],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Creates all pods at their times, late ones at once; returns when the server has taken the last one."""
        with ThreadPoolExecutor(max(self.together, _AT_ONCE)) as pool:
            began, sent = clock(), list[Future[object]]()
            for number in range(self.groups):
                sleep(max(0.0, began + number * self.every - clock()))
                sent += [pool.submit(create, pod) for pod in self.group(number)]
            for created in sent:
                created.result()

    def waits(self, appeared: Mapping[str, float], bound: Mapping[str, float]) -> list[float]:
        """Seconds of every group from the moment at which its last pod appeared to that at which all of it was bound.

        Of a group of one, that is the latency of the pod. A group whose last pod is bound before another one appears has
        not waited.
        """
        names = [[pod["metadata"]["name"] for pod in self.group(number)] for number in range(self.groups)]
        return [max(0.0, max(bound[name] for name in group) - max(appeared[name] for name in group)) for group in names]


def quantile(values: Sequence[float], share: float) -> float:
    """The least value that so large a share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _served(index: int) -> JsonObject:
    return pod_manifest(f"served-{index}", SERVED)


def _single(index: int) -> JsonObject:
    return pod_manifest(f"single-{index}", {"app": "steady"})


def _steady(per_second: int) -> Arrivals:
    return Arrivals(f"steady {per_second}/s", _single, 1, 1.0 / per_second, per_second * _STEADY_SECONDS)


ARRIVALS: Final = {
    arrivals.name: arrivals
    for arrivals in (Arrivals(f"burst of {_BURST}", _served, _BURST, 0.5, _BURSTS), _steady(50), _steady(150))
}
