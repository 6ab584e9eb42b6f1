# SPDX-License-Identifier: Apache-2.0
"""Score of PodTopologySpread: prefers nodes with few matching pods in their domains.

PreScore counts per domain, Score sums up a node's domains (the fewer pods the better), and
NormalizeScore inverts the sum to 0..100. The weight of a constraint is the logarithm of the number
of its domains, so that a few large domains are not dominated by many small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from steersman.api import HOSTNAME_LABEL, Pod, required
from steersman.framework import MAX_NODE_SCORE, NodeInfo, NodeScore, go_log, go_round
from steersman.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint, has_all_keys

NOT_SCORED: Final = 0


class DomainScores:
    """The domains of the feasible nodes, passed from PreScore to Score and NormalizeScore."""

    def __init__(
        self, constraints: tuple[SpreadConstraint, ...], feasible: Sequence[NodeInfo], *, require_all_keys: bool
    ) -> None:
        self.constraints = constraints
        self._require_all_keys = require_all_keys
        #: Feasible nodes that lack a topology label and are not scored.
        self.ignored: frozenset[str] = frozenset(
            node.name for node in feasible if require_all_keys and not has_all_keys(node.labels, constraints)
        )
        scored = [node for node in feasible if node.name not in self.ignored]
        #: Per constraint: topology value → matching pods. Empty for hostnames, which Score counts.
        self.by_value: tuple[dict[str, int], ...] = tuple(_domains(constraint, scored) for constraint in constraints)
        #: Per constraint: the weight of one matching pod.
        self.weights: tuple[float, ...] = tuple(
            topology_weight(len(scored) if constraint.topology_key == HOSTNAME_LABEL else len(domains))
            for constraint, domains in zip(constraints, self.by_value, strict=True)
        )

    def count(self, pod: Pod, nodes: Sequence[NodeInfo], comparison_operators: bool) -> None:
        """Count the pods on all nodes, feasible or not, in domains with a feasible node."""
        affinity = required(pod)
        for node in nodes:
            if self._require_all_keys and not has_all_keys(node.labels, self.constraints):
                continue
            for constraint, counts in zip(self.constraints, self.by_value, strict=True):
                value = node.labels.get(constraint.topology_key, "")
                if value in counts and constraint.counts_node(pod, affinity, node.node, comparison_operators):
                    counts[value] += constraint.count_pods(node.pods, pod.metadata.namespace)

    def score(self, pod: Pod, node: NodeInfo) -> int:
        """Return the sum over the domains, higher for fuller ones; `normalize` inverts it."""
        if node.name in self.ignored:
            return NOT_SCORED
        total = 0.0
        for constraint, counts, weight in zip(self.constraints, self.by_value, self.weights, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                continue
            if constraint.topology_key == HOSTNAME_LABEL:
                matching = constraint.count_pods(node.pods, pod.metadata.namespace)
            else:
                matching = counts[value]
            total += score_for_count(matching, constraint.max_skew, weight)
        return go_round(total)

    def normalize(self, scores: Sequence[NodeScore]) -> None:
        """Normalise in place: emptier domains get more; nodes that are not scored get 0."""
        scored = [entry for entry in scores if entry.name not in self.ignored]
        least = min((entry.score for entry in scored), default=0)
        greatest = max((entry.score for entry in scored), default=0)
        for entry in scores:
            if entry.name in self.ignored:
                entry.score = NOT_SCORED
            elif greatest == 0:
                entry.score = MAX_NODE_SCORE
            else:
                entry.score = MAX_NODE_SCORE * (greatest + least - entry.score) // greatest


def _domains(constraint: SpreadConstraint, scored: Sequence[NodeInfo]) -> dict[str, int]:
    """Return the scored nodes' domains with count 0. Unlabelled nodes share the domain ""."""
    if constraint.topology_key == HOSTNAME_LABEL:
        return {}
    return {node.labels.get(constraint.topology_key, ""): 0 for node in scored}


@lru_cache(maxsize=1 << 14)
def topology_weight(domains: int) -> float:
    """Return the weight of a constraint with this number of domains."""
    return go_log(float(domains + 2))


def score_for_count(matching: int, max_skew: int, weight: float) -> float:
    """Return the score of a count. Adding the tolerated skew weakens domain differences."""
    return float(matching) * weight + float(max_skew - 1)
