# SPDX-License-Identifier: Apache-2.0
"""Explanation of one scheduling cycle as data: the verdict of every plugin on every node for one
pod, and the outcome.

Made by `explanation_builder`, rendered by `text` and `html`. Field names are Kubernetes', in
camelCase as JSON.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from steersman.scheduler.diagnosis import text
from steersman.scheduler.diagnosis.amounts import amount
from steersman.scheduler.diagnosis.cause import Cause, cause_of


class Outcome(StrEnum):
    """Outcome of the cycle."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    NOT_TRIED = "not tried"
    """There was no cycle: the pod is held back, is being deleted, or belongs to another scheduler.
    """
    UNDECIDED = "undecided"
    """The explanation was made before the end of the cycle."""


class _Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the parts of an explanation."""


class Shortage(_Part, frozen=True, omit_defaults=False):
    """A resource that a node has too little of: cpu in millicores, everything else in its base
    unit."""

    #: The plugin's reason for which this shortage is.
    reason: str
    resource: str
    asks: int
    #: Allocatable minus requested; below zero on an overcommitted node.
    free: int
    allocatable: int

    def __str__(self) -> str:
        asks, free, all_of_it = (amount(self.resource, each) for each in (self.asks, self.free, self.allocatable))
        return f"asks {asks}, {free} free of {all_of_it}" if self.allocatable else f"asks {asks}, there is none"


class Verdict(_Part, frozen=True):
    """A plugin's objection, to a node or to the pod as a whole."""

    plugin: str
    code: str
    #: kube-scheduler's texts.
    reasons: tuple[str, ...] = ()
    #: Amounts, for reasons about a resource.
    shortages: tuple[Shortage, ...] = ()
    #: The taint, label, port, … that the reasons do not name; "" if there is none.
    detail: str = ""

    def __str__(self) -> str:
        numbers = {shortage.reason: f" ({shortage})" for shortage in self.shortages}
        reasons = ", ".join(f"{reason}{numbers.get(reason, '')}" for reason in self.reasons) or self.code
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.plugin}: {reasons}{detail}" if self.plugin else f"{reasons}{detail}"


class PluginScore(_Part, frozen=True, omit_defaults=False):
    """One plugin's score of one node; the total is the sum of `weighted`."""

    plugin: str
    weight: int
    raw: int
    normalised: int
    weighted: int


class NodeExplanation(_Part, frozen=True):
    """Verdicts and scores of one node."""

    node: str
    fits: bool
    #: Objections; the first plugin decided, by the order of the profile, and the others would have
    #: rejected the pod too.
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[PluginScore, ...] = ()
    #: Sum of the weighted scores; None if nothing was scored.
    total: int | None = None


class PreFilterExplanation(_Part, frozen=True):
    """Outcome of PreFilter, before any node is filtered."""

    #: Plugins whose Filter is skipped for this pod.
    skipped: tuple[str, ...] = ()
    #: The rejection of the pod as a whole.
    rejection: Verdict | None = None
    #: The nodes to which plugins restricted the cycle, and these plugins; None for all nodes.
    nodes: tuple[str, ...] | None = None
    restricted_by: tuple[str, ...] = ()


class Victim(_Part, frozen=True, omit_defaults=False):
    """A pod that would be preempted."""

    pod: str
    priority: int


class PreemptionCandidate(_Part, frozen=True):
    """A node on which preemption helps; victims are listed by importance, most important first."""

    node: str
    victims: tuple[Victim, ...]
    #: Number of victims that a disruption budget protects.
    pdb_violations: int = 0


class PreemptionRejection(_Part, frozen=True):
    """Nodes on which preemption does not help, for the same reasons."""

    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


class PreemptionExplanation(_Part, frozen=True):
    """Latest preemption of the pod."""

    #: The chosen node; "" if preemption helps on no node.
    nominated_node: str = ""
    #: The rule that selected this node among the candidates.
    decided_by: str = ""
    #: Nodes that are equal by all rules.
    ties: tuple[str, ...] = ()
    #: Number of nodes whose rejection preemption might resolve, and number of nodes where it does.
    examined_nodes: int = 0
    candidate_nodes: int = 0
    candidates: tuple[PreemptionCandidate, ...] = ()
    #: Pods of lower priority that lost their nomination to the node.
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
    #: Number of nodes with the best total; the choice among them is random.
    ties: int = 0
    #: Seconds since the start of the simulation.
    at: float | None = None
    #: Only the nominated node was filtered.
    nominated_only: bool = False
    pre_filter: PreFilterExplanation = PreFilterExplanation()
    #: Plugins whose Score was skipped for this pod.
    score_skipped: tuple[str, ...] = ()
    nodes: tuple[NodeExplanation, ...] = ()
    #: None if there was no preemption.
    preemption: PreemptionExplanation | None = None

    def node_explanation(self, node: str) -> NodeExplanation:
        """Return the explanation of one node. Raises `KeyError` for an unknown node."""
        for explained in self.nodes:
            if explained.node == node:
                return explained
        raise KeyError(node)

    @property
    def cause(self) -> Cause:
        """Why the pod is pending, as a sentence and by groups of nodes."""
        return cause_of(self)

    def table(self, limit: int | None = None, width: int | None = None) -> str:
        """Return the outcome, scores of the nodes that fit, and objections to the others, as text.

        Tables have at most `limit` rows, and lines are folded at `width`; None for no limit.
        """
        return text.table(self, limit, width)

    def _repr_html_(self) -> str:
        from steersman.scheduler.diagnosis.html import explanation_html

        return explanation_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain lists, dicts and values, with its cause."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {**plain, "cause": msgspec.to_builtins(self.cause)}
