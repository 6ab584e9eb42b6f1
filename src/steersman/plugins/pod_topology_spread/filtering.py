# SPDX-License-Identifier: Apache-2.0
"""What Filter of PodTopologySpread decides by: how many matching pods each domain has.

PreFilter counts once; AddPod and RemovePod keep the counts right while "what if" questions are answered on a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from steersman.api import Pod
from steersman.api.node_selectors import required
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unresolvable, unschedulable
from steersman.plugins.pod_topology_spread.constraints import SpreadConstraint, has_all_keys

ERR_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
ERR_NODE_LABEL_NOT_MATCH: Final = f"{ERR_CONSTRAINTS_NOT_MATCH} (missing required label)"

#: The least number of matching pods where no domain is eligible: no skew is too much.
NO_DOMAIN: Final = 2**31 - 1


class DomainCounts:
    """From PreFilter to Filter: per constraint, the matching pods of every eligible domain."""

    def __init__(self, constraints: tuple[SpreadConstraint, ...], comparison_operators: bool) -> None:
        self.constraints = constraints
        #: In the order of the constraints: topology value → number of matching pods. An eligible domain may have none.
        self.by_value: tuple[dict[str, int], ...] = tuple({} for _ in constraints)
        self._comparison_operators = comparison_operators

    def clone(self) -> DomainCounts:
        copy = DomainCounts(self.constraints, self._comparison_operators)
        copy.by_value = tuple(dict(counts) for counts in self.by_value)
        return copy

    def count(self, pod: Pod, nodes: Iterable[NodeInfo]) -> None:
        """Counts the pods on all nodes, for the pod that is being scheduled."""
        affinity = required(pod)
        for node in nodes:
            if not has_all_keys(node.labels, self.constraints):
                continue
            for constraint, counts in zip(self.constraints, self.by_value, strict=True):
                if not constraint.counts_node(pod, affinity, node.node, self._comparison_operators):
                    continue
                value = node.labels[constraint.topology_key]
                counts[value] = counts.get(value, 0) + constraint.count_pods(node.pods, pod.metadata.namespace)

    def update(self, pod: Pod, changed: PodInfo, node: NodeInfo, delta: int) -> None:
        """Adds (1) or removes (-1) a pod of that node."""
        if changed.namespace != pod.metadata.namespace or not has_all_keys(node.labels, self.constraints):
            return
        affinity = required(pod)
        for constraint, counts in zip(self.constraints, self.by_value, strict=True):
            if not constraint.selector.matches(changed.labels):
                continue
            if constraint.counts_node(pod, affinity, node.node, self._comparison_operators):
                value = node.labels[constraint.topology_key]
                counts[value] = counts.get(value, 0) + delta

    def check(self, pod_labels: Mapping[str, str], node: NodeInfo) -> Status | None:
        """Whether the pod on that node would keep every skew within its bound."""
        for constraint, counts in zip(self.constraints, self.by_value, strict=True):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return unresolvable(ERR_NODE_LABEL_NOT_MATCH)
            self_match = constraint.selector.matches(pod_labels)
            skew = counts.get(value, 0) + self_match - least_matching(counts, constraint.min_domains)
            if skew > constraint.max_skew:
                return unschedulable(ERR_CONSTRAINTS_NOT_MATCH)
        return None


def least_matching(counts: Mapping[str, int], min_domains: int) -> int:
    """The count that the others are compared with: 0 while there are fewer domains than there should be."""
    if len(counts) < min_domains:
        return 0
    return min(counts.values(), default=NO_DOMAIN)
