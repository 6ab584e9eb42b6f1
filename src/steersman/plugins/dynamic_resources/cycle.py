# SPDX-License-Identifier: Apache-2.0
"""What the plugin hands from PreFilter to Filter, Score, Reserve and PreBind of one pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from steersman.api import AllocationResult, ResourceClaim
from steersman.api.node_selectors import AnyTerm
from steersman.plugins.dynamic_resources.allocation import PreparedClaim, Supply
from steersman.plugins.dynamic_resources.answers import Answers, NodeAllocation
from steersman.plugins.dynamic_resources.extended import NodeClaim


@dataclass(slots=True)
class CycleClaims:
    """What-if evaluations share it: which pods are on a node does not matter here."""

    #: The pod's claims in the order of the spec; the one for extended resources, if any, comes last.
    claims: list[ResourceClaim] = field(default_factory=list)
    #: How many of them are users' claims.
    own_count: int = 0
    #: Extended resources that the pod requests, where a class stands behind at least one.
    extended_resources: dict[str, int] = field(default_factory=dict)
    #: By position, where claims that are allocated can be used; the others everywhere.
    available_on: dict[int, AnyTerm] = field(default_factory=dict)
    #: The only node where one of these claims can be used; "": none of them is tied to a node.
    tied_to: str = ""
    #: What Filter chooses from; None: every claim is allocated.
    supply: Supply | None = None
    #: The users' claims that are to be allocated; None: not looked at yet.
    prepared: list[PreparedClaim] | None = None
    #: The claim for extended resources, by the resources that nodes have to serve by devices.
    extended_claims: dict[tuple[str, ...], tuple[NodeClaim, PreparedClaim]] = field(default_factory=dict)
    #: What Filter said of each node; other pods may have asked the same.
    answers: Answers = field(default_factory=Answers)
    #: When the cycle is postponed; None: it has not begun to look at nodes.
    postponed_at: float | None = None
    #: What Reserve took.
    chosen: NodeAllocation | None = None
    #: By position, the allocations that Reserve made.
    allocations: dict[int, AllocationResult] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.claims

    @property
    def extended_claim(self) -> ResourceClaim | None:
        return self.claims[self.own_count] if self.own_count < len(self.claims) else None

    @property
    def own_claims(self) -> list[ResourceClaim]:
        return self.claims[: self.own_count]

    def to_allocate(self) -> Iterator[tuple[int, ResourceClaim]]:
        """The claims without allocation, with their positions."""
        return ((index, claim) for index, claim in enumerate(self.claims) if claim.status.allocation is None)

    def allocation_on(self, node_name: str) -> NodeAllocation | None:
        """As long as the cycle lasts."""
        known = self.answers.latest(node_name)
        return known if isinstance(known, NodeAllocation) else None
