# SPDX-License-Identifier: Apache-2.0
"""A node on which preemption would help, with the pods that would have to go; and how the best of several is picked.

The rules are upstream's, in upstream's order: each leaves the candidates that are best by it, until one is left. Where
upstream then takes any, the smallest name is taken here. Of two pods the one with the higher priority matters more, and
among equals the one that has run longer: victims are spared and listed in this order. The result of PostFilter carries a
`PreemptionReport`: how it was decided, for explanations, conformance and decision records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from steersman.api import timestamps
from steersman.cycle.diagnosis import Diagnosis
from steersman.engine.evaluation import NodeStatuses
from steersman.framework.pod_info import PodInfo

#: Makes every priority count as a positive number: a node with more victims must never look cheaper.
PRIORITY_SHIFT = 1 << 31

ONLY_CANDIDATE = "it is the only candidate"
SMALLEST_NAME = "smallest name among equals"


class Candidate(msgspec.Struct, frozen=True):
    """A node with its victims, most important first, never empty."""

    node: str
    victims: tuple[PodInfo, ...]
    #: Victims that could not be spared although that violates a disruption budget.
    pdb_violations: int = 0

    @property
    def victims_to_delete(self) -> list[PodInfo]:
        """The victims that are not terminating yet. Without any, there is nothing to carry out on the node."""
        return [victim for victim in self.victims if not victim.is_terminating]


class CandidateChoice(msgspec.Struct, frozen=True):
    """The picked candidate and why."""

    candidate: Candidate
    #: The rule that left only this one.
    rule: str
    #: Nodes that all rules find equally good, the picked one first.
    ties: tuple[str, ...]


Cost = Callable[[Candidate, float], float]
"""The key that a rule minimises; the number is the present time."""


def highest_priority(candidate: Candidate) -> int:
    return max(victim.priority for victim in candidate.victims)


def sum_of_priorities(candidate: Candidate) -> int:
    return sum(victim.priority + PRIORITY_SHIFT for victim in candidate.victims)


def earliest_start(candidate: Candidate, now: float) -> float:
    """The earliest start among the victims with the highest priority."""
    highest = highest_priority(candidate)
    return min(start_time(victim, now) for victim in candidate.victims if victim.priority == highest)


RULES: tuple[tuple[str, Cost], ...] = (
    ("fewest violations of disruption budgets", lambda candidate, now: candidate.pdb_violations),
    ("lowest priority of the most important victim", lambda candidate, now: highest_priority(candidate)),
    ("lowest sum of the victims' priorities", lambda candidate, now: sum_of_priorities(candidate)),
    ("fewest victims", lambda candidate, now: len(candidate.victims)),
    ("latest start of the most important victims", lambda candidate, now: -earliest_start(candidate, now)),
)


def pick(candidates: Sequence[Candidate], now: float) -> CandidateChoice:
    """The best candidate of at least one."""
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


# -- importance --------------------------------------------------------------------------------------------------------


def start_time(pod: PodInfo, now: float) -> float:
    """The start of a pod in seconds since the epoch; a pod that has not started counts as starting now."""
    started = pod.pod.status.start_time
    return now if started is None else timestamps.parse(started)


def by_importance(pods: Iterable[PodInfo], now: float) -> list[PodInfo]:
    """The pods, most important first; equals in the order of `as_equals`."""
    return sorted(as_equals(pods), key=lambda pod: (-pod.priority, start_time(pod, now)))


def as_equals(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods in the order in which they come if nothing else tells them apart: those that have started as they are, then
    the others from the last to the first.

    Upstream gives a pod that has not started the present of the moment at which it compares it, and so takes the later of
    two for the older. (With more than twelve of them on a node its order is none that can be told.)
    """
    every = list(pods)
    waiting = [pod for pod in every if pod.pod.status.start_time is None]
    if not waiting:
        return every
    return [pod for pod in every if pod.pod.status.start_time is not None] + waiting[::-1]


class PreemptionReport(msgspec.Struct, frozen=True):
    """Everything that is known of one pod's attempt to make room."""

    preemptor: str
    all_nodes: int
    #: Number of nodes on which the rejection could be resolved by removing pods.
    examined: int
    #: Nodes that would do, by name: all of them in a detailed report, else those whose victims had to be known.
    candidates: tuple[Candidate, ...] = ()
    #: Number of nodes that would do, listed or not. The search may have ended before it knew of all.
    candidate_count: int = 0
    choice: CandidateChoice | None = None
    #: Pods of lower priority that lose their nomination to the chosen node: none while all victims are terminating already,
    #: because nothing is carried out then.
    cleared_nominations: tuple[str, ...] = ()
    #: Why others would not do.
    statuses: NodeStatuses = msgspec.field(default_factory=NodeStatuses)

    def failure(self) -> str:
        """Why there is no choice, in the words of a scheduling failure."""
        return Diagnosis(self.all_nodes, self.statuses, frozenset(), frozenset()).message()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, named as in Kubernetes' JSON."""
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
