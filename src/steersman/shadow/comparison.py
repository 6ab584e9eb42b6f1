# SPDX-License-Identifier: Apache-2.0
"""One decision of the other scheduler beside ours, as data: which class it is in, and how we know.

Made by `decision_review`, counted by `summary`, written by `differences` and `report`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

API_VERSION: Final = "steersman.dev/shadow/v1"


class ComparisonClass(StrEnum):
    """How the other scheduler's decision stands to ours."""

    SAME = "same"
    """The only best node, or no node there and none here."""
    TIE = "tie"
    """One of several best nodes: chance chooses among them."""
    SAMPLING = "sampling"
    """The best of the nodes that the other scheduler looked at; better ones were outside of its search."""
    TIMING = "timing"
    """The best on the cluster as it stood a little earlier or later; the events in between are named."""
    UNPROVEN = "unproven"
    """Sampling, or a watch that was interrupted, could explain it, but nothing shows that it does."""
    DISAGREEMENT = "disagreement"
    """Nothing explains it: the two would decide differently on the same cluster."""


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
    """The weighted scores that one plugin gives to both nodes here."""

    plugin: str
    theirs: int
    ours: int


class ComparedScores(_ShadowPart, frozen=True):
    """The other scheduler's node beside our best one, by our totals."""

    #: The total of the other scheduler's node; None: it does not fit here.
    theirs: int | None
    #: The best total.
    ours: int | None
    #: Nodes with a better total than the other scheduler's.
    better_nodes: int
    #: The plugin that makes most of the difference; of a node that does not fit, the one that objects.
    plugin: str = ""
    #: Why the other scheduler's node does not fit here, in kube-scheduler's words.
    objection: str = ""
    plugins: tuple[PluginDifference, ...] = ()


class SearchEvidence(_ShadowPart, frozen=True, omit_defaults=False):
    """Everything known of the search for nodes that the other scheduler made for this pod."""

    #: Nodes of the cluster, and feasible ones after which the search ends.
    nodes: int
    wanted: int
    #: Index in kube-scheduler's order of nodes from which the search explains the decision; -1: there is none.
    start_index: int
    #: How many start indexes earlier decisions left possible, and how many are left after this one.
    possible_before: int
    possible_after: int
    #: Decisions in a row before this one that a predicted start index explained.
    confirmed: int
    #: Better nodes that the search did not come to.
    better_outside: int
    #: What the search must have been like (`node_search.SearchCourse`).
    course: str = ""
    #: Where the order of nodes is not known: the chance that a search misses all better nodes; None: it is known.
    chance: float | None = None


class DecisionComparison(_ShadowPart, frozen=True):
    """One decision of the other scheduler, and ours on the same pod."""

    pod: str
    uid: str
    profile: str
    decision: DecisionKind
    comparison_class: ComparisonClass = msgspec.field(name="class")
    #: How we know, in a sentence.
    evidence: str
    #: When the decision was seen: seconds since the epoch.
    seen: float
    #: The other scheduler's node, "" where it has none; and a best one of ours.
    their_node: str = ""
    our_node: str = ""
    #: Nodes as good as ours, it included.
    ties: int = 0
    #: Nodes that fit here.
    feasible_nodes: int = 0
    #: The messages on a pod that fits nowhere.
    their_message: str = ""
    our_message: str = ""
    scores: ComparedScores | None = None
    search: SearchEvidence | None = None
    #: Events that the other scheduler had seen earlier or later than we.
    events: tuple[str, ...] = ()
    #: Where the state is written that repeats it.
    directory: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def line(self) -> str:
        """For people, in one line."""
        where = f"{self.their_node or 'no node'}" + (f", ours {self.our_node or 'no node'}" if self._differs else "")
        return f"{self.comparison_class}: {self.pod} on {where}: {self.evidence}"

    @property
    def _differs(self) -> bool:
        return self.comparison_class not in AGREEING
