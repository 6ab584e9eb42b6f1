# SPDX-License-Identifier: Apache-2.0
"""An explanation as data: what every plugin said of every node for one pod, and what came of it.

Made by `making`, printed by `text`. All names are Kubernetes'; `to_dict` gives them in camelCase.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from steersman.explain import text
from steersman.explain.amounts import amount
from steersman.explain.cause import Cause, cause_of


class Outcome(StrEnum):
    """How the cycle ended."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    NOT_TRIED = "not tried"
    """There was no cycle: the pod is held back, is being deleted, or is another scheduler's."""
    UNDECIDED = "undecided"
    """The cycle was looked at before its end."""


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of all parts."""


class Shortage(_Part, frozen=True, omit_defaults=False):
    """A resource of which a node has too little left: cpu in millicores, everything else in its base unit."""

    #: The plugin's reason that it belongs to.
    reason: str
    resource: str
    asks: int
    #: What is left; below zero on an overcommitted node.
    free: int
    allocatable: int

    def __str__(self) -> str:
        asks, free, all_of_it = (amount(self.resource, each) for each in (self.asks, self.free, self.allocatable))
        return f"asks {asks}, {free} free of {all_of_it}" if self.allocatable else f"asks {asks}, there is none"


class Verdict(_Part, frozen=True):
    """A plugin's objection, to a node or to the pod as a whole."""

    plugin: str
    code: str
    #: kube-scheduler's words.
    reasons: tuple[str, ...] = ()
    #: How much is missing, for reasons that are about an amount.
    shortages: tuple[Shortage, ...] = ()
    #: Which taint, label or port it is about; "" if there is nothing to add.
    detail: str = ""

    @property
    def brief(self) -> str:
        """The plugin and its reasons, which are the same for many nodes."""
        reasons = ", ".join(self.reasons) or self.code
        return f"{self.plugin}: {reasons}" if self.plugin else reasons

    def __str__(self) -> str:
        numbers = {shortage.reason: f" ({shortage})" for shortage in self.shortages}
        reasons = ", ".join(f"{reason}{numbers.get(reason, '')}" for reason in self.reasons) or self.code
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.plugin}: {reasons}{detail}" if self.plugin else f"{reasons}{detail}"


class PluginScore(_Part, frozen=True, omit_defaults=False):
    """One plugin's score of one node; `weighted` is what counts in the total."""

    plugin: str
    weight: int
    raw: int
    normalised: int
    weighted: int


class NodeExplanation(_Part, frozen=True):
    """One node. Without verdicts the pod fits there."""

    node: str
    fits: bool
    #: The first is the one that decided, in the order of the profile; the others would have objected as well.
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[PluginScore, ...] = ()
    #: Sum of the weighted scores; None when nothing was scored.
    total: int | None = None


class PreFilterExplanation(_Part, frozen=True):
    """The outcome of PreFilter, before any node was looked at."""

    #: Plugins that have nothing to do for this pod.
    skipped: tuple[str, ...] = ()
    #: The rejection of the pod as a whole.
    rejection: Verdict | None = None
    #: The only nodes that were looked at, and the plugins that said so; None: all nodes.
    nodes: tuple[str, ...] | None = None
    restricted_by: tuple[str, ...] = ()


class Victim(_Part, frozen=True, omit_defaults=False):
    """A pod that would have to go."""

    pod: str
    priority: int


class PreemptionCandidate(_Part, frozen=True):
    """A node on which making room would help; victims are listed by importance, the most important first."""

    node: str
    victims: tuple[Victim, ...]
    #: How many of the victims a disruption budget protects.
    pdb_violations: int = 0


class PreemptionRejection(_Part, frozen=True):
    """Nodes on which making room would not help, for the same reasons."""

    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


class PreemptionExplanation(_Part, frozen=True):
    """The pod's latest attempt to make room for itself."""

    #: The node that was chosen; "" when making room helps nowhere.
    nominated_node: str = ""
    #: The rule that left only this node.
    decided_by: str = ""
    #: Nodes that all rules found equally good.
    ties: tuple[str, ...] = ()
    #: Nodes whose rejection might be resolved by removing pods, and those of them that would do.
    examined_nodes: int = 0
    candidate_nodes: int = 0
    candidates: tuple[PreemptionCandidate, ...] = ()
    #: Pods of lower priority that were nominated to the node before.
    cleared_nominations: tuple[str, ...] = ()
    rejected: tuple[PreemptionRejection, ...] = ()


class Explanation(_Part, frozen=True):
    """One scheduling cycle of one pod."""

    pod: str
    profile: str
    outcome: Outcome
    message: str = ""
    #: The chosen node.
    node: str = ""
    #: How many nodes had the best total; the choice among them is random, by the seed.
    ties: int = 0
    #: Seconds since the start of the simulation.
    at: float | None = None
    #: Only the node that the pod was nominated to was looked at.
    nominated_only: bool = False
    pre_filter: PreFilterExplanation = PreFilterExplanation()
    #: Plugins that had nothing to score for this pod.
    score_skipped: tuple[str, ...] = ()
    nodes: tuple[NodeExplanation, ...] = ()
    #: None: the pod did not get so far as to ask for room.
    preemption: PreemptionExplanation | None = None

    def of(self, node: str) -> NodeExplanation:
        """The explanation of one node; KeyError when there is none of that name."""
        for explained in self.nodes:
            if explained.node == node:
                return explained
        raise KeyError(node)

    @property
    def cause(self) -> Cause:
        """Why the pod is pending, in a sentence, and by groups of nodes."""
        return cause_of(self)

    def table(self, most: int | None = None, width: int | None = None) -> str:
        """For people: the outcome, scores of the nodes that fit, and objections to the others.

        `most` rows of each, folded to a `width` in characters; None: no limit.
        """
        return text.table(self, most, width)

    def _repr_html_(self) -> str:
        from steersman.explain.notebook import explanation_html

        return explanation_html(self)

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values, named as in Kubernetes' JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {**plain, "cause": msgspec.to_builtins(self.cause)}
