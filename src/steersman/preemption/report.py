# SPDX-License-Identifier: Apache-2.0
"""How a preemption was decided, as a value: for explanations, conformance and decision records.

Made by the evaluator, carried by the result of PostFilter.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steersman.cycle.diagnosis import Diagnosis
from steersman.engine.evaluation import NodeStatuses
from steersman.preemption.candidates import Candidate, CandidateChoice


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
