# SPDX-License-Identifier: Apache-2.0
"""Filter of PodTopologySpread, which decides by how many matching pods each domain has.

PreFilter counts once; AddPod and RemovePod keep the counts right while "what if" questions are answered on a copy.

In the vector form `state` keeps the matching pods counted per domain. In every cycle each domain is judged once, by the
least count among the domains of its constraint, and the verdicts are spread to the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.api import Pod
from steersman.api.node_selectors import required
from steersman.api.selectors import Selector
from steersman.framework.columns import GroupingFilterKernel, RowFeature, StatusTable
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import (
    BoolColumn,
    DomainCounts,
    IntColumn,
    NodesView,
    ReasonColumn,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_limits import NO_LIMIT, PodLimit, PodLimits
from steersman.framework.status import Status, unresolvable, unschedulable
from steersman.kept import Kept
from steersman.plugins.pod_topology_spread.constraints import SpreadConstraint, has_all_keys
from steersman.plugins.pod_topology_spread.counting_columns import NodeRule, count_by_domain, matching_pods

ERR_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
ERR_NODE_LABEL_NOT_MATCH: Final = f"{ERR_CONSTRAINTS_NOT_MATCH} (missing required label)"

#: The least number of matching pods where no domain is eligible: no skew is too much.
NO_DOMAIN: Final = 2**31 - 1
#: Up to so many domains, single cells are cheaper than a vector operation.
_FEW_DOMAINS: Final = 16


class SpreadCounts:
    """From PreFilter to Filter: per constraint, the matching pods of every eligible domain."""

    def __init__(self, constraints: tuple[SpreadConstraint, ...], comparison_operators: bool) -> None:
        self.constraints = constraints
        #: In the order of the constraints: topology value → number of matching pods. An eligible domain may have none.
        self.by_value: tuple[dict[str, int], ...] = tuple({} for _ in constraints)
        self._comparison_operators = comparison_operators

    def clone(self) -> SpreadCounts:
        copy = SpreadCounts(self.constraints, self._comparison_operators)
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


# -- the vector form ---------------------------------------------------------------------------------------------------


ELIGIBLE_DOMAINS = Kept(
    name="eligible domains",
    attributes=(
        "HardConstraint._domains",
        "HardConstraint._domain_count",
        "HardConstraint._few_domains",
        "HardConstraint._lacks_label",
        "HardConstraint._nodes_seen",
    ),
    holds="the domains that count for a hard constraint, and whether a node has none",
    key="one for each constraint of a kernel",
    stamps="end of the log of changed nodes: found anew",
    bound="one for each constraint",
    twin="the domains with eligible rows",
    held_equal="tests/plugins/pod_topology_spread/test_columns_equal_scalar_form.py",
    is_inline=True,
)


class HardConstraint:
    """One constraint of a pod, with the counts of its domains."""

    def __init__(
        self,
        constraint: SpreadConstraint,
        table: DomainCounts,
        namespace: str,
        *,
        matches_itself: bool,
        view: NodesView,
    ) -> None:
        self._view = view
        self._table = table
        self.topology = table.topology
        self._min_domains = constraint.min_domains
        #: What a domain may have more than the least.
        self._lead = constraint.max_skew - matches_itself
        self._weight = MatchingPodWeight(namespace, constraint.selector)
        self._nodes_seen = -1

    def crowded(self) -> BoolColumn:
        """The domains in which one pod more would be too many. Slot 0 is not meaningful."""
        crowded: BoolColumn = self._table.counts > self._lead + self._least()
        return crowded

    def feature(self) -> RowFeature:
        """The domain of a row; where every row is a domain of its own, the pods in it."""
        topology, table = self.topology, self._table
        if topology.one_row_per_domain:
            domain, count = topology.cell, table.cell
            return RowFeature(lambda: topology.gather(table.counts), lambda row: count[domain[row]], True)
        return RowFeature(lambda: topology.domain, topology.cell.__getitem__, False)

    def crowded_groups(self, groups: Sequence[tuple[int, ...]], at: int) -> list[bool]:
        """`crowded`, by group, or without a domain; the feature is at that place in it."""
        most = self._lead + self._least()
        if self.topology.one_row_per_domain:
            return [group[at] > most for group in groups]
        count_in = self._table.cell
        return [not group[at] or count_in[group[at]] > most for group in groups]

    def limits(self) -> tuple[PodLimit, ...]:
        """The limits that the constraint sets to a row: that it has a domain, and that the domain gets no further ahead of the
        others than it may. Pods that come to a domain or leave it change what it has, but not what the others have."""
        domains = self.topology.domain
        label = PodLimit(None, np.where(domains == 0, -1, NO_LIMIT), np.zeros(len(domains), np.bool_))
        by_domain = self._lead + self._least_elsewhere() - self._table.counts
        by_domain[0] = NO_LIMIT
        return label, PodLimit(self._weight, by_domain.take(domains), self._table.counted_rows)

    @property
    def is_satisfiable(self) -> bool:
        """Whether a domain that has no more pods than any other is within the bound: not with a skew of 0, which the API
        server would not admit."""
        return self._lead >= 0

    @property
    def lacks_label(self) -> bool:
        """Whether there is a node without a domain."""
        self._look_at_nodes()
        return self._lacks_label

    def _least(self) -> int:
        """The count that the others are compared with, as `least_matching` has it."""
        self._look_at_nodes()
        if self._domain_count < self._min_domains:
            return 0
        if self._few_domains:
            count_in = self._table.cell
            return min([count_in[domain] for domain in self._few_domains])
        return int(self._table.counts[self._domains].min()) if self._domain_count else NO_DOMAIN

    def _least_elsewhere(self) -> IntColumn:
        """By domain: the least count among the others."""
        self._look_at_nodes()
        counts = self._table.counts
        if self._domain_count < self._min_domains:
            return np.zeros(len(counts), np.int64)
        ids = np.arange(len(counts))[self._domains]
        lowest = ids[np.argsort(counts[ids], kind="stable")[:2]]
        least, second = (int(counts[lowest[i]]) if i < len(lowest) else NO_DOMAIN for i in (0, 1))
        elsewhere = np.full(len(counts), least, np.int64)
        elsewhere[lowest[:1]] = second
        return elsewhere

    def _look_at_nodes(self) -> None:
        """Finds the eligible domains anew; they change with the nodes only."""
        position = self._view.node_log.end
        if self._nodes_seen != position:
            self._nodes_seen = position
            domains = self._table.eligible_rows[1:].nonzero()[0] + 1
            self._domain_count = len(domains)
            self._domains = _as_slice(domains)
            self._few_domains: list[int] = domains.tolist() if len(domains) <= _FEW_DOMAINS else []
            self._lacks_label = bool((self._view.alive & (self.topology.domain == 0)).any())


class HardConstraintsKernel(GroupingFilterKernel):
    """All hard constraints of one pod, in their order."""

    def __init__(
        self,
        constraints: Sequence[SpreadConstraint],
        pod: PodInfo,
        view: NodesView,
        statuses: StatusTable,
        *,
        comparison_operators: bool,
    ) -> None:
        self._view = view
        self._constraints: list[HardConstraint] = []
        keys = [constraint.topology_key for constraint in constraints]
        for constraint in constraints:
            rule = NodeRule.of(constraint, pod.pod, keys, comparison_operators=comparison_operators)
            table = count_by_domain(constraint, matching_pods(constraint, pod.pod, view), rule, view)
            matches_itself = constraint.selector.matches(pod.labels)
            self._constraints.append(
                HardConstraint(constraint, table, pod.namespace, matches_itself=matches_itself, view=view)
            )
        self._reason_crowded = statuses.id_of(unschedulable(ERR_CONSTRAINTS_NOT_MATCH))
        self._reason_no_label = statuses.id_of(unresolvable(ERR_NODE_LABEL_NOT_MATCH))

    def skipped(self) -> bool:
        return False

    def rejected(self) -> BoolColumn | None:
        rejected: BoolColumn | None = None
        for constraint in self._constraints:
            domains = constraint.crowded()
            domains[0] = constraint.lacks_label
            if domains.any():
                rows = constraint.topology.gather(domains)
                rejected = rows if rejected is None else rejected | rows
        return rejected

    def features(self) -> Sequence[RowFeature]:
        return [constraint.feature() for constraint in self._constraints]

    def rejected_groups(self, groups: Sequence[tuple[int, ...]]) -> Sequence[bool]:
        crowded = [constraint.crowded_groups(groups, at) for at, constraint in enumerate(self._constraints)]
        return crowded[0] if len(crowded) == 1 else [any(verdicts) for verdicts in zip(*crowded, strict=True)]

    def reasons(self) -> ReasonColumn:
        """The first constraint that is not met gives the reason."""
        reasons = np.zeros(self._view.capacity, np.int32)
        for constraint in self._constraints:
            by_domain = np.multiply(constraint.crowded(), self._reason_crowded, dtype=np.int32)
            by_domain[0] = self._reason_no_label
            reasons = np.where(reasons != 0, reasons, constraint.topology.gather(by_domain))
        return reasons

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits | None:
        if not all(constraint.is_satisfiable for constraint in self._constraints):
            return None
        return PodLimits(limits=tuple(limit for constraint in self._constraints for limit in constraint.limits()))


class MatchingPodWeight(msgspec.Struct, frozen=True, cache_hash=True):
    """Implements `framework.pod_limits.PodWeight`, as `SpreadCounts.update` has it: a pod that comes or goes counts also when
    it is terminating, or when the selector is empty, although neither is counted to begin with."""

    namespace: str
    selector: Selector

    def of(self, pod: PodInfo) -> int:
        return int(pod.namespace == self.namespace and self.selector.matches(pod.labels))


def _as_slice(indices: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Neighbours are read faster as a slice than one by one: usually all domains there are."""
    first, last = (int(indices[0]), int(indices[-1])) if len(indices) else (0, -1)
    return slice(first, last + 1) if last - first + 1 == len(indices) else indices
