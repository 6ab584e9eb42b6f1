# SPDX-License-Identifier: Apache-2.0
"""The scheduler's latest decisions, for pages that are open: rates, latencies, and pods that moved.

`AttemptFeed` observes the scheduler and notes a few values per decision; `RateWindow` makes rates of them when a tick of the
stream takes them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple

from steersman.assembly import AttemptObserver, Scheduler
from steersman.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.explain import PreemptionExplanation, preemption_explanation, preemption_report
from steersman.preemption import PreemptionReport
from steersman.queue import QueuedPodInfo
from steersman.web.answers import WebPart

MOST_NOTED: Final = 4096
"""So many decisions are kept while nobody takes them."""
MOST_PREEMPTIONS: Final = 256
WINDOW_SECONDS: Final = 2.0
SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
_outcome = attrgetter("outcome")


class NotedDecision(NamedTuple):
    """One decision. `latency`: seconds from the pod's entry into the active queue."""

    pod: str
    at: float
    node: str
    outcome: str
    latency: float


class AttemptFeed(AttemptObserver):
    """Notes what is decided until somebody takes it; the oldest go first."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._clock = scheduler.clock
        self._noted: deque[NotedDecision] = deque(maxlen=MOST_NOTED)
        #: The latest attempts of pods to make room for themselves; the oldest are forgotten.
        self._preemptions: OrderedDict[str, PreemptionReport] = OrderedDict()

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        clock = self._clock
        if isinstance(decision, Scheduled):
            outcome, node = SCHEDULED, decision.choice.node
        elif isinstance(decision, Unschedulable):
            outcome, node = UNSCHEDULABLE, ""
            report = preemption_report(decision)
            if report is not None:
                self._note_preemption(queued.key, report)
        elif isinstance(decision, Failed):
            outcome, node = ERROR, ""
        else:
            return
        waited = clock.monotonic() - queued.initial_attempt / 1_000_000
        self._noted.append(NotedDecision(queued.key, clock.now(), node, outcome, waited))

    def preemption(self, pod: str) -> PreemptionExplanation | None:
        """The pod's latest attempt to make room; None: there was none, or it is forgotten."""
        report = self._preemptions.get(pod)
        return None if report is None else preemption_explanation(report)

    def _note_preemption(self, pod: str, report: PreemptionReport) -> None:
        self._preemptions[pod] = report
        self._preemptions.move_to_end(pod)
        if len(self._preemptions) > MOST_PREEMPTIONS:
            self._preemptions.popitem(last=False)

    def taken(self) -> list[NotedDecision]:
        """All that was noted since the last time, oldest first."""
        taken = list(self._noted)
        self._noted.clear()
        return taken


class DecisionRates(WebPart, frozen=True):
    """Decisions per second, and how long pods waited, over the last `seconds` of the scheduler's clock."""

    seconds: float
    scheduled: float = 0.0
    unschedulable: float = 0.0
    errors: float = 0.0
    latency_p50: float | None = None
    latency_p99: float | None = None


class _RecentDecisions(NamedTuple):
    """Decisions that were taken together: when the last was made, how many of each outcome, how long those scheduled waited."""

    at: float
    outcomes: Counter[str]
    latencies: list[float]


class RateWindow:
    """The decisions of the last seconds. What was taken together stays together: each decision is looked at once."""

    def __init__(self, now: float) -> None:
        self._begin = now
        self._recent: deque[_RecentDecisions] = deque()

    def rates(self, decisions: list[NotedDecision], now: float) -> DecisionRates:
        """With these decisions, which are new."""
        begin = max(now - WINDOW_SECONDS, self._begin)
        new = [decision for decision in decisions if decision.at >= begin]
        if new:
            latencies = [decision.latency for decision in new if decision.outcome == SCHEDULED]
            self._recent.append(_RecentDecisions(new[-1].at, Counter(map(_outcome, new)), latencies))
        while self._recent and self._recent[0].at < begin:
            self._recent.popleft()
        seconds = now - begin
        if seconds <= 0 or not self._recent:
            return DecisionRates(max(seconds, 0.0))
        waited = sorted(chain.from_iterable(recent.latencies for recent in self._recent))
        scheduled, unschedulable, errors = (
            sum(recent.outcomes[outcome] for recent in self._recent) / seconds
            for outcome in (SCHEDULED, UNSCHEDULABLE, ERROR)
        )
        return DecisionRates(
            seconds,
            scheduled,
            unschedulable,
            errors,
            waited[len(waited) // 2] if waited else None,
            waited[min(len(waited) - 1, len(waited) * 99 // 100)] if waited else None,
        )
