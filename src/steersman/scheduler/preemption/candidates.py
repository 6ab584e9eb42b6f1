# SPDX-License-Identifier: Apache-2.0
"""Preemption candidates, nodes with the pods that would have to be removed, and the choice of the
best.

The rules are upstream's, in upstream's order: each keeps the best candidates until one is left.
Where upstream then takes any, the smallest name is taken here. A pod with higher priority is more
important and, among equals, the one that has run longer: victims are reprieved and listed in this
order. The result of PostFilter contains a `PreemptionReport`, for explanations, conformance and
decision records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from steersman.api import timestamps
from steersman.framework import PodInfo
from steersman.scheduler.cycle.diagnosis import Diagnosis
from steersman.scheduler.engine.evaluation import NodeStatuses

#: Makes every priority positive, so that additional victims always increase the sum.
PRIORITY_SHIFT = 1 << 31

ONLY_CANDIDATE = "it is the only candidate"
SMALLEST_NAME = "smallest name among equals"


class Candidate(msgspec.Struct, frozen=True):
    """A node with its victims, most important first, never empty."""

    node: str
    victims: tuple[PodInfo, ...]
    #: Number of victims whose eviction violates a disruption budget.
    pdb_violations: int = 0

    @property
    def victims_to_delete(self) -> list[PodInfo]:
        """The victims that are not terminating yet. Without any, there is nothing to execute."""
        return [victim for victim in self.victims if not victim.is_terminating]


class CandidateChoice(msgspec.Struct, frozen=True):
    """The chosen candidate and the deciding rule."""

    candidate: Candidate
    #: The last rule that was applied, which excluded all other candidates.
    rule: str
    #: Nodes that are equal by all rules, the chosen one first.
    ties: tuple[str, ...]


Cost = Callable[[Candidate, float], float]
"""Cost that a rule minimises, given a candidate and the current time."""


def first_priority(candidate: Candidate) -> int:
    """Return the priority of the first victim, which is the highest one unless a victim has another
    priority as member of a group."""
    return candidate.victims[0].priority


def sum_of_priorities(candidate: Candidate) -> int:
    return sum(victim.priority + PRIORITY_SHIFT for victim in candidate.victims)


def earliest_start(candidate: Candidate, now: float) -> float:
    """Return the earliest start among the victims with the highest priority."""
    highest = max(victim.priority for victim in candidate.victims)
    return min(start_time(victim, now) for victim in candidate.victims if victim.priority == highest)


RULES: tuple[tuple[str, Cost], ...] = (
    ("fewest violations of disruption budgets", lambda candidate, now: candidate.pdb_violations),
    ("lowest priority of the most important victim", lambda candidate, now: first_priority(candidate)),
    ("lowest sum of the victims' priorities", lambda candidate, now: sum_of_priorities(candidate)),
    ("fewest victims", lambda candidate, now: len(candidate.victims)),
    ("latest start of the most important victims", lambda candidate, now: -earliest_start(candidate, now)),
)


def pick(candidates: Sequence[Candidate], now: float) -> CandidateChoice:
    """Return the best of at least one candidate."""
    best = list(candidates)
    decisive = ONLY_CANDIDATE
    for rule, cost in RULES:
        if len(best) == 1:
            break
        costs = [cost(candidate, now) for candidate in best]
        least = min(costs)
        best = [candidate for candidate, its in zip(best, costs, strict=True) if its == least]
        decisive = rule
    if len(best) > 1:
        decisive = SMALLEST_NAME
    best.sort(key=lambda candidate: candidate.node)
    return CandidateChoice(best[0], decisive, tuple(candidate.node for candidate in best))


# -- importance -----------------------------------------------------------------------------------


def start_time(pod: PodInfo, now: float) -> float:
    """Return the start of a pod in seconds since the epoch; `now` for a pod that has not
    started."""
    started = pod.pod.status.start_time
    return now if started is None else timestamps.parse(started)


def by_importance(pods: Iterable[PodInfo], now: float) -> list[PodInfo]:
    """Return the pods, most important first; equal ones in the order of `as_equals`."""
    return sorted(as_equals(pods), key=lambda pod: (-pod.priority, start_time(pod, now)))


def as_equals(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Return the pods in the order for otherwise equal ones: started pods in their order, then the
    others in reverse.

    Upstream uses the current time at each comparison for a pod that has not started, so that the
    later of two counts as older. (With more than twelve of them on a node, upstream's order is
    undefined.)
    """
    every = list(pods)
    waiting = [pod for pod in every if pod.pod.status.start_time is None]
    if not waiting:
        return every
    return [pod for pod in every if pod.pod.status.start_time is not None] + waiting[::-1]


class PreemptionReport(msgspec.Struct, frozen=True):
    """Details of one preemption attempt."""

    preemptor: str
    all_nodes: int
    #: Number of nodes whose rejection might be resolved by removing pods.
    examined: int
    #: Candidates by name: all in a detailed report, else those whose victims were computed.
    candidates: tuple[Candidate, ...] = ()
    #: Number of candidates, listed or not. The search may have ended before it found all.
    candidate_count: int = 0
    choice: CandidateChoice | None = None
    #: Pods of lower priority whose nomination to the chosen node is cleared; none if all victims
    #: are already terminating.
    cleared_nominations: tuple[str, ...] = ()
    #: Why other nodes are not candidates.
    statuses: NodeStatuses = msgspec.field(default_factory=NodeStatuses)

    def failure(self) -> str:
        """Return why there is no choice, as the message of a scheduling failure."""
        return Diagnosis(self.all_nodes, self.statuses, frozenset(), frozenset()).message()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data with Kubernetes' JSON names."""
        document: dict[str, Any] = {
            "examinedNodes": self.examined,
            "candidateNodes": self.candidate_count,
            "candidates": [_candidate_document(candidate) for candidate in self.candidates],
            "rejected": [
                {"reasons": list(status.reasons), "nodes": sorted(names)}
                for status, names in self.statuses.groups.items()
            ],
        }
        if self.choice is not None:
            document["nominatedNode"] = self.choice.candidate.node
            document["decidedBy"] = self.choice.rule
            document["ties"] = sorted(self.choice.ties)
            document["clearedNominations"] = list(self.cleared_nominations)
        return document


def _candidate_document(candidate: Candidate) -> dict[str, Any]:
    return {
        "node": candidate.node,
        "victims": [{"pod": victim.key, "priority": victim.priority} for victim in candidate.victims],
        "pdbViolations": candidate.pdb_violations,
    }
