# SPDX-License-Identifier: Apache-2.0
"""Latest decisions of the scheduler, for open pages: rates, latencies, and pods that left the
queue.

`AttemptFeed` observes the scheduler and records a few values per decision; its `RateHistory` counts
decisions by second, even if no page is open.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from steersman.sandbox.web.answers import WebPart
from steersman.scheduler.assembly import AttemptObserver, Scheduler
from steersman.scheduler.cycle import Decision, Failed, Scheduled, Unschedulable
from steersman.scheduler.diagnosis import PreemptionExplanation, preemption_explanation, preemption_report
from steersman.scheduler.preemption import PreemptionReport
from steersman.scheduler.queue import QueuedPodInfo

MAX_NOTED: Final = 4096
"""Maximum number of decisions between two calls of `taken`."""
MAX_PREEMPTIONS: Final = 256
MAX_ATTEMPTS: Final = 200_000
"""Number of placed pods whose attempts are remembered."""
MAX_SECONDS: Final = 600
MAX_LATENCIES: Final = 256
SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"


class NotedDecision(NamedTuple):
    """One decision. `latency` is in seconds since the pod entered the active queue."""

    pod: str
    at: float
    node: str
    outcome: str
    latency: float


class AttemptFeed(AttemptObserver):
    """Records decisions until they are taken; the oldest are dropped first."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._clock = scheduler.clock
        self._noted: deque[NotedDecision] = deque(maxlen=MAX_NOTED)
        #: Latest preemption by pod; the oldest entries are dropped.
        self._preemptions: OrderedDict[str, PreemptionReport] = OrderedDict()
        #: Number of attempts of scheduled pods; the oldest entries are dropped.
        self._attempts: OrderedDict[str, int] = OrderedDict()
        self.history = RateHistory()

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        clock = self._clock
        if isinstance(decision, Scheduled):
            outcome, node = SCHEDULED, decision.choice.node
            self._note_attempts(queued.key, queued.attempts)
        elif isinstance(decision, Unschedulable):
            outcome, node = UNSCHEDULABLE, ""
            report = preemption_report(decision)
            if report is not None:
                self._note_preemption(queued.key, report)
        elif isinstance(decision, Failed):
            outcome, node = ERROR, ""
        else:
            return
        # The queue rounds to microseconds, which may be later than now.
        waited = max(0.0, clock.monotonic() - queued.initial_attempt / 1_000_000)
        now = clock.now()
        self._noted.append(NotedDecision(queued.key, now, node, outcome, waited))
        self.history.add(now, outcome, waited)

    def attempts(self, pod: str) -> int:
        """Return the number of attempts of a scheduled pod; 0 if unknown."""
        return self._attempts.get(pod, 0)

    def add_attempts(self, pods: Iterable[str]) -> None:
        """Count attempts that another scheduler made."""
        for pod, attempts in Counter(pods).items():
            self._note_attempts(pod, attempts)

    def _note_attempts(self, pod: str, attempts: int) -> None:
        self._attempts[pod] = attempts
        if len(self._attempts) > MAX_ATTEMPTS:
            self._attempts.popitem(last=False)

    def preemption(self, pod: str) -> PreemptionExplanation | None:
        """Return the latest preemption of the pod; None if unknown."""
        report = self._preemptions.get(pod)
        return None if report is None else preemption_explanation(report)

    def _note_preemption(self, pod: str, report: PreemptionReport) -> None:
        self._preemptions[pod] = report
        self._preemptions.move_to_end(pod)
        if len(self._preemptions) > MAX_PREEMPTIONS:
            self._preemptions.popitem(last=False)

    def taken(self) -> list[NotedDecision]:
        """Return and remove the recorded decisions, oldest first."""
        taken = list(self._noted)
        self._noted.clear()
        return taken


class RatePoints(WebPart, frozen=True):
    """Decisions by second of the scheduler's clock, in columns, oldest first, without empty
    seconds."""

    at: list[int]
    scheduled: list[int]
    unschedulable: list[int]
    errors: list[int]
    latency_p50: list[float | None]
    latency_p99: list[float | None]


class _Second:
    """Decisions of one second of the scheduler's clock."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.outcomes: Counter[str] = Counter()
        #: Waiting times of every `_stride`-th scheduled pod, at most `MAX_LATENCIES`.
        self.latencies: list[float] = []
        self._stride = 1
        #: Median and 99th percentile, and the number of decisions for which they were computed.
        self._quantiles: tuple[int, float | None, float | None] = 0, None, None

    def add(self, outcome: str, latency: float) -> None:
        self.outcomes[outcome] += 1
        if outcome == SCHEDULED and not self.outcomes[SCHEDULED] % self._stride:
            self.latencies.append(latency)
            if len(self.latencies) > MAX_LATENCIES:
                self.latencies = self.latencies[::2]
                self._stride *= 2

    @property
    def quantiles(self) -> tuple[float | None, float | None]:
        count = self.outcomes[SCHEDULED]
        if self._quantiles[0] != count:
            self._quantiles = count, _quantile(self.latencies, 0.5), _quantile(self.latencies, 0.99)
        return self._quantiles[1:]


class RateHistory:
    """Decisions by second: the last `MAX_SECONDS` seconds in which something was decided."""

    def __init__(self) -> None:
        self._seconds: deque[_Second] = deque(maxlen=MAX_SECONDS)

    def add(self, at: float, outcome: str, latency: float) -> None:
        second = int(at)
        if not self._seconds or self._seconds[-1].at != second:
            self._seconds.append(_Second(second))
        self._seconds[-1].add(outcome, latency)

    def points(self, since: float = -math.inf) -> RatePoints:
        """Return the seconds that end after `since`."""
        chosen = [one for one in self._seconds if one.at + 1 > since]
        return RatePoints(
            [one.at for one in chosen],
            [one.outcomes[SCHEDULED] for one in chosen],
            [one.outcomes[UNSCHEDULABLE] for one in chosen],
            [one.outcomes[ERROR] for one in chosen],
            [one.quantiles[0] for one in chosen],
            [one.quantiles[1] for one in chosen],
        )


def _quantile(values: list[float], share: float) -> float | None:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else None
