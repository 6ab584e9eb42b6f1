"""How a preemption was decided, as a value: for explanations, conformance and decision records.

Made by the evaluator, carried by the result of PostFilter. `to_dict` is for machines, `text` for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from steersman.cycle.diagnosis import Diagnosis
from steersman.cycle.evaluation import NodeStatuses
from steersman.preemption.candidates import Candidate, Choice

#: More candidates than this are counted in the text, not listed.
_MOST_LISTED = 10


@dataclass(frozen=True, slots=True)
class PreemptionReport:
    """Everything that is known of one pod's attempt to make room."""

    preemptor: str
    all_nodes: int
    #: Number of nodes on which the rejection could be resolved by removing pods.
    examined: int
    #: Nodes that would do, by name: all of them in a detailed report, else those whose victims had to be known.
    candidates: tuple[Candidate, ...] = ()
    #: Number of nodes that would do, listed or not. The search may have ended before it knew of all.
    candidate_count: int = 0
    choice: Choice | None = None
    #: Pods of lower priority that lose their nomination to the chosen node.
    cleared_nominations: tuple[str, ...] = ()
    #: Why others would not do.
    statuses: NodeStatuses = field(default_factory=NodeStatuses)

    def failure(self) -> str:
        """Why there is no choice, in the words of a scheduling failure."""
        return Diagnosis(self.all_nodes, self.statuses, frozenset(), frozenset()).message()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        document: dict[str, Any] = {
            "preemptor": self.preemptor,
            "examinedNodes": self.examined,
            "candidateNodes": self.candidate_count,
            "candidates": [candidate_document(candidate) for candidate in self.candidates],
        }
        if self.choice is not None:
            document["nominatedNode"] = self.choice.candidate.node
            document["decidedBy"] = self.choice.rule
            document["ties"] = sorted(self.choice.ties)
            document["clearedNominations"] = list(self.cleared_nominations)
        if self.statuses.groups:
            document["rejected"] = [
                {"reasons": list(status.reasons), "nodes": sorted(names)}
                for status, names in self.statuses.groups.items()
            ]
        return document

    def text(self) -> str:
        """A few lines."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.choice is None:
            yield f"preemption for {self.preemptor}: none of {self.examined} examined nodes would do"
            return
        best = self.choice.candidate
        yield (
            f"preemption for {self.preemptor}: {best.node}, one of {self.candidate_count} "
            f"candidate{'s' if self.candidate_count != 1 else ''} among {self.examined} examined nodes; "
            f"decided by: {self.choice.rule}"
        )
        listed = sorted(self.candidates, key=lambda candidate: (candidate.node != best.node, candidate.node))
        for candidate in listed[:_MOST_LISTED]:
            yield _candidate_line(candidate, candidate.node == best.node)
        if self.candidate_count > min(len(listed), _MOST_LISTED):
            yield f"    … and {self.candidate_count - min(len(listed), _MOST_LISTED)} more"
        if self.cleared_nominations:
            yield f"  no longer nominated there: {', '.join(self.cleared_nominations)}"


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    return {
        "node": candidate.node,
        "victims": [victim.key for victim in candidate.victims],
        "pdbViolations": candidate.pdb_violations,
    }


def _candidate_line(candidate: Candidate, chosen: bool) -> str:
    victims = ", ".join(f"{victim.key} (priority {victim.priority})" for victim in candidate.victims)
    violations = f"; violates {candidate.pdb_violations} disruption budget(s)" if candidate.pdb_violations else ""
    return f"  {'→' if chosen else ' '} {candidate.node}: evicts {victims}{violations}"
