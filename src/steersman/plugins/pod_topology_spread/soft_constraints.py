# SPDX-License-Identifier: Apache-2.0
"""A soft constraint with the counts that `state` keeps for it: what `row_scores` and `score_classes` compute with."""

from __future__ import annotations

from collections.abc import Sequence

from steersman.api import Pod
from steersman.framework.nodes_view import (
    BoolColumn,
    Column,
    DomainCounts,
    NodesView,
)
from steersman.plugins.pod_topology_spread.constraints import HOSTNAME, SpreadConstraint
from steersman.plugins.pod_topology_spread.counting_columns import NodeRule, count_by_domain, matching_pods


class SoftConstraint:
    """One constraint of a pod."""

    def __init__(self, constraint: SpreadConstraint, pod: Pod, rule: NodeRule, view: NodesView) -> None:
        #: Kept, because its columns follow the pods only as long as somebody refers to it.
        self._pods = pods = matching_pods(constraint, pod, view)
        self.topology = view.topology(constraint.topology_key)
        self.max_skew = constraint.max_skew
        #: Matching pods by row.
        self.per_row: Column = pods.per_row
        #: Matching pods by domain; None for hostnames, where the pods of the node itself count.
        self.by_domain: DomainCounts | None = None
        if constraint.topology_key != HOSTNAME:
            self.by_domain = count_by_domain(constraint, pods, rule, view)


class SoftConstraints:
    """All soft constraints of a pod, in their order."""

    def __init__(
        self,
        constraints: Sequence[SpreadConstraint],
        pod: Pod,
        view: NodesView,
        *,
        require_all_keys: bool,
        comparison_operators: bool,
    ) -> None:
        self.view = view
        #: Nodes that lack one of the topology labels are not scored.
        self.require_all_keys = require_all_keys
        keys = [constraint.topology_key for constraint in constraints] if require_all_keys else []
        self.each = tuple(
            SoftConstraint(c, pod, NodeRule.of(c, pod, keys, comparison_operators=comparison_operators), view)
            for c in constraints
        )

    def rows_with_all_keys(self) -> BoolColumn:
        has = self.view.alive.copy()
        for constraint in self.each:
            has &= constraint.topology.domain != 0
        return has
