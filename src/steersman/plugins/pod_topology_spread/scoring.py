# SPDX-License-Identifier: Apache-2.0
"""Score of PodTopologySpread, which decides by how many matching pods share a node's domains.

PreScore counts per domain, Score sums up a node's domains (the fewer pods the better), NormalizeScore turns that around
into 0..100. A constraint weighs by the logarithm of the number of its domains, so that the counts of a few big domains
are not drowned by those of many small ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from steersman.api import Pod
from steersman.api.node_selectors import required
from steersman.framework.go_math import go_log, go_round
from steersman.framework.node_info import NodeInfo
from steersman.framework.plugin import MAX_NODE_SCORE, NodeScore
from steersman.plugins.pod_topology_spread.constraints import HOSTNAME, SpreadConstraint, has_all_keys

NOT_SCORED: Final = 0


class DomainScores:
    """From PreScore to Score and NormalizeScore: what is known of the domains of the feasible nodes."""

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
        #: In the order of the constraints: topology value → matching pods. Empty for hostnames: Score counts those.
        self.by_value: tuple[dict[str, int], ...] = tuple(_domains(constraint, scored) for constraint in constraints)
        #: In the order of the constraints: the weight of one matching pod.
        self.weights: tuple[float, ...] = tuple(
            topology_weight(len(scored) if constraint.topology_key == HOSTNAME else len(domains))
            for constraint, domains in zip(constraints, self.by_value, strict=True)
        )

    def count(self, pod: Pod, nodes: Sequence[NodeInfo], comparison_operators: bool) -> None:
        """Counts the pods on all nodes, feasible or not, of the domains that have a feasible node."""
        affinity = required(pod)
        for node in nodes:
            if self._require_all_keys and not has_all_keys(node.labels, self.constraints):
                continue
            for constraint, counts in zip(self.constraints, self.by_value, strict=True):
                value = node.labels.get(constraint.topology_key, "")
                if value in counts and constraint.counts_node(pod, affinity, node.node, comparison_operators):
                    counts[value] += constraint.count_pods(node.pods, pod.metadata.namespace)

    def score(self, pod: Pod, node: NodeInfo) -> int:
        """Higher for fuller domains; `normalize` turns that around."""
        if node.name in self.ignored:
            return NOT_SCORED
        total = 0.0
        for constraint, counts, weight in zip(self.constraints, self.by_value, self.weights, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                continue
            if constraint.topology_key == HOSTNAME:
                matching = constraint.count_pods(node.pods, pod.metadata.namespace)
            else:
                matching = counts[value]
            total += score_for_count(matching, constraint.max_skew, weight)
        return go_round(total)

    def normalize(self, scores: Sequence[NodeScore]) -> None:
        """Normalises in place: the emptiest domains get the most; nodes that are not scored get 0."""
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
    """The domains of the scored nodes, all empty. Nodes without the label, if they are scored, share the domain ""."""
    if constraint.topology_key == HOSTNAME:
        return {}
    return {node.labels.get(constraint.topology_key, ""): 0 for node in scored}


@lru_cache(maxsize=1 << 14)
def topology_weight(domains: int) -> float:
    """The weight of a constraint with so many domains."""
    return go_log(float(domains + 2))


def score_for_count(matching: int, max_skew: int, weight: float) -> float:
    """The tolerated skew is added so that it waters down differences between domains."""
    return float(matching) * weight + float(max_skew - 1)
