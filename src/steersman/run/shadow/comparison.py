# SPDX-License-Identifier: Apache-2.0
"""Comparison of one decision of the other scheduler with ours, as data: its class and the evidence.

Created by `decision_review`, counted by `summary`, written by `differences` and `report`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec


class ComparisonClass(StrEnum):
    """Relation of the other scheduler's decision to ours."""

    SAME = "same"
    """The only best node; or both found no node."""
    TIE = "tie"
    """One of several best nodes, chosen at random."""
    SAMPLING = "sampling"
    """The best of the nodes in the other scheduler's sample, which lacked better ones."""
    TIMING = "timing"
    """The best on the cluster a little earlier or later; the events in between are listed."""
    UNPROVEN = "unproven"
    """Could be explained by sampling or an interrupted watch, without evidence that it is."""
    DISAGREEMENT = "disagreement"
    """Not explained: the schedulers would decide differently on the same cluster."""


AGREEING: Final = frozenset({ComparisonClass.SAME, ComparisonClass.TIE})
EXPLAINED: Final = frozenset({*AGREEING, ComparisonClass.SAMPLING, ComparisonClass.TIMING})


class DecisionKind(StrEnum):
    """Kinds of decisions of the other scheduler."""

    BINDING = "binding"
    UNSCHEDULABLE = "unschedulable"
    NOMINATION = "nomination"


class _ShadowPart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the parts of a comparison."""


class PluginDifference(_ShadowPart, frozen=True, omit_defaults=False):
    """One plugin's weighted scores of both nodes, as computed here."""

    plugin: str
    theirs: int
    ours: int


class ComparedScores(_ShadowPart, frozen=True):
    """Our total scores of the other scheduler's node and of our best node."""

    #: Total of the other scheduler's node; None if it does not fit here.
    theirs: int | None
    #: Best total.
    ours: int | None
    #: Number of nodes with a better total than the other scheduler's node.
    better_nodes: int
    #: Plugin with the largest difference, or the plugin that rejects the node.
    plugin: str = ""
    #: Why the other scheduler's node does not fit here, in kube-scheduler's words.
    objection: str = ""
    plugins: tuple[PluginDifference, ...] = ()


class SearchEvidence(_ShadowPart, frozen=True, omit_defaults=False):
    """Evidence about the other scheduler's search for nodes for one pod."""

    #: Number of nodes, and number of feasible nodes after which the search ends.
    nodes: int
    wanted: int
    #: Start index in kube-scheduler's node order that explains the decision; -1 if none.
    start_index: int
    #: Number of possible start indexes before and after this decision.
    possible_before: int
    possible_after: int
    #: Number of consecutive earlier decisions that a predicted start index explained.
    confirmed: int
    #: Number of better nodes outside the search.
    better_outside: int
    #: Course of the search that explains the decision (`node_search.SearchCourse`).
    course: str = ""
    #: Probability that a search misses all better nodes; None if the order of nodes is known.
    chance: float | None = None


class DecisionComparison(_ShadowPart, frozen=True):
    """One decision of the other scheduler, and ours on the same pod."""

    pod: str
    uid: str
    profile: str
    decision: DecisionKind
    comparison_class: ComparisonClass = msgspec.field(name="class")
    #: Sentence that justifies the class.
    evidence: str
    #: Time at which the decision was seen, in seconds since the epoch.
    seen: float
    #: Node of the other scheduler ("" if none), and one of our best nodes.
    their_node: str = ""
    our_node: str = ""
    #: Number of nodes as good as ours, including ours.
    ties: int = 0
    #: Number of nodes that fit here.
    feasible_nodes: int = 0
    #: Messages for a pod that fits nowhere.
    their_message: str = ""
    our_message: str = ""
    scores: ComparedScores | None = None
    search: SearchEvidence | None = None
    #: Events that the other scheduler saw earlier or later than we did.
    events: tuple[str, ...] = ()
    #: Directory with the state that reproduces the decision.
    directory: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain lists, dicts and values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def line(self) -> str:
        """Return the comparison as one line of text."""
        where = f"{self.their_node or 'no node'}" + (f", ours {self.our_node or 'no node'}" if self._differs else "")
        return f"{self.comparison_class}: {self.pod} on {where}: {self.evidence}"

    @property
    def _differs(self) -> bool:
        return self.comparison_class not in AGREEING
