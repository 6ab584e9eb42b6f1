# SPDX-License-Identifier: Apache-2.0
"""Filter of PodTopologySpread: limits the skew of matching pods between domains.

PreFilter counts once; AddPod and RemovePod update a copy of the counts in what-if queries.

In the vector form `state` maintains the counts per domain. Each cycle compares each domain with the
minimum of its constraint, and spreads the results to the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from steersman.api import Pod, Selector, required
from steersman.base import CacheSpec
from steersman.framework import (
    NO_LIMIT,
    BoolColumn,
    DomainCounts,
    GroupingFilterKernel,
    IntColumn,
    NodeInfo,
    NodesView,
    PodInfo,
    PodLimit,
    PodLimits,
    ReasonColumn,
    RowFeature,
    Status,
    StatusTable,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.plugins.pod_topology_spread.constraints import SpreadConstraint, has_all_keys
from steersman.scheduler.plugins.pod_topology_spread.counting_columns import NodeRules, count_by_domain, matching_pods

ERR_CONSTRAINTS_NOT_MATCH: Final = "node(s) didn't match pod topology spread constraints"
ERR_NODE_LABEL_NOT_MATCH: Final = f"{ERR_CONSTRAINTS_NOT_MATCH} (missing required label)"

#: The minimum count without eligible domains: no skew is too large.
NO_DOMAIN: Final = 2**31 - 1
#: Up to this number of domains, reading single cells is cheaper than a vector operation.
_FEW_DOMAINS: Final = 16


class SpreadCounts:
    """Matching pods per constraint and eligible domain, passed from PreFilter to Filter."""

    def __init__(self, constraints: tuple[SpreadConstraint, ...], comparison_operators: bool) -> None:
        self.constraints = constraints
        #: Per constraint: topology value → matching pods, also for eligible domains without any.
        self.by_value: tuple[dict[str, int], ...] = tuple({} for _ in constraints)
        self._comparison_operators = comparison_operators

    def clone(self) -> SpreadCounts:
        copy = SpreadCounts(self.constraints, self._comparison_operators)
        copy.by_value = tuple(dict(counts) for counts in self.by_value)
        return copy

    def count(self, pod: Pod, nodes: Iterable[NodeInfo]) -> None:
        """Count the pods on all nodes, for the scheduled pod."""
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
        """Count an added (`delta` 1) or removed (-1) pod of the node."""
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
        """Return a rejection if the pod on this node would exceed the skew of a constraint."""
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
    """Return the minimum count of all domains, or 0 with fewer than `min_domains` domains."""
    if len(counts) < min_domains:
        return 0
    return min(counts.values(), default=NO_DOMAIN)


# -- the vector form ---------------------------------------------------------------------------------------------------


ELIGIBLE_DOMAINS = CacheSpec(
    name="eligible domains",
    attributes=(
        "HardConstraint._domains",
        "HardConstraint._domain_count",
        "HardConstraint._few_domains",
        "HardConstraint._lacks_label",
        "HardConstraint._nodes_seen",
    ),
    contents="the domains that count for a hard constraint, and whether a node has none",
    key="one for each constraint of a kernel",
    invalidation="end of the log of changed nodes: recomputed",
    limit="one for each constraint",
    reference="the domains with eligible rows",
    checked_by="tests/plugins/pod_topology_spread/test_columns_equal_scalar_form.py",
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
        #: The number of pods by which a domain may exceed the minimum before the pod is added.
        self._lead = constraint.max_skew - matches_itself
        self._weight = MatchingPodWeight(namespace, constraint.selector)
        self._nodes_seen = -1

    def crowded(self) -> BoolColumn:
        """Return the domains that one more pod would overfill. Slot 0 is not meaningful."""
        crowded: BoolColumn = self._table.counts > self._lead + self._least()
        return crowded

    def feature(self) -> RowFeature:
        """Return the domain of each row, or its pods if every row is a domain of its own."""
        topology, table = self.topology, self._table
        if topology.one_row_per_domain:
            domain, count = topology.cell, table.cell
            return RowFeature(lambda: topology.gather(table.counts), lambda row: count[domain[row]], True)
        return RowFeature(lambda: topology.domain, topology.cell.__getitem__, False)

    def crowded_groups(self, groups: Sequence[tuple[int, ...]], at: int) -> list[bool]:
        """Return per group whether it is crowded or has no domain; `at` is the feature's index."""
        most = self._lead + self._least()
        if self.topology.one_row_per_domain:
            return [group[at] > most for group in groups]
        count_in = self._table.cell
        return [not group[at] or count_in[group[at]] > most for group in groups]

    def limits(self) -> tuple[PodLimit, ...]:
        """Return the limits of each row: it must have a domain, whose count may exceed the minimum
        of all other domains by `_lead` at most. Added and removed pods change only the count of
        their own domain."""
        domains = self.topology.domain
        label = PodLimit(None, np.where(domains == 0, -1, NO_LIMIT), np.zeros(len(domains), np.bool_))
        by_domain = self._lead + self._least_elsewhere() - self._table.counts
        by_domain[0] = NO_LIMIT
        return label, PodLimit(self._weight, by_domain.take(domains), self._table.counted_rows)

    @property
    def is_satisfiable(self) -> bool:
        """Return whether a domain with the minimum count satisfies the skew. A skew of 0, which the
        API server rejects, never does."""
        return self._lead >= 0

    @property
    def lacks_label(self) -> bool:
        """Return whether there is a node without a domain."""
        self._update_eligible_domains()
        return self._lacks_label

    def _least(self) -> int:
        """Return the minimum count, like `least_matching`."""
        self._update_eligible_domains()
        if self._domain_count < self._min_domains:
            return 0
        if self._few_domains:
            count_in = self._table.cell
            return min([count_in[domain] for domain in self._few_domains])
        return int(self._table.counts[self._domains].min()) if self._domain_count else NO_DOMAIN

    def _least_elsewhere(self) -> IntColumn:
        """Return by domain the minimum count of all others."""
        self._update_eligible_domains()
        counts = self._table.counts
        if self._domain_count < self._min_domains:
            return np.zeros(len(counts), np.int64)
        ids = np.arange(len(counts))[self._domains]
        lowest = ids[np.argsort(counts[ids], kind="stable")[:2]]
        least, second = (int(counts[lowest[i]]) if i < len(lowest) else NO_DOMAIN for i in (0, 1))
        elsewhere = np.full(len(counts), least, np.int64)
        elsewhere[lowest[:1]] = second
        return elsewhere

    def _update_eligible_domains(self) -> None:
        """Update the eligible domains, which change only with the nodes."""
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

    follows_state = True

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
        rules = NodeRules(pod.pod, keys, view, comparison_operators=comparison_operators)
        for constraint, pods in zip(constraints, matching_pods(constraints, pod.pod, view), strict=True):
            table = count_by_domain(constraint, pods, rules, view)
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
        """Return the reason of the first unsatisfied constraint."""
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
    """Implements `framework.pod_limits.PodWeight` like `SpreadCounts.update`: an added or removed
    pod counts even if it is terminating or the selector is empty, although existing ones do not."""

    namespace: str
    selector: Selector

    def weigh(self, pod: PodInfo) -> int:
        return int(pod.namespace == self.namespace and self.selector.matches(pod.labels))


def _as_slice(indices: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Return consecutive indices, usually all domains, as a slice, which is faster to read."""
    first, last = (int(indices[0]), int(indices[-1])) if len(indices) else (0, -1)
    return slice(first, last + 1) if last - first + 1 == len(indices) else indices
