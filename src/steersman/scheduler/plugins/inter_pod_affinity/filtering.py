# SPDX-License-Identifier: Apache-2.0
"""The required terms: the nodes that affinity and anti-affinity exclude.

PreFilter counts the matches per topology pair (key, value); Filter looks up a node's pairs. AddPod
and RemovePod update the counts.

In the vector form, `state` maintains these counts per domain, for the terms of the scheduled pod
and for anti-affinity against it. Each domain is checked once for all its rows. Domain 0, the rows
without the label, is in no pair: anti-affinity ignores it, affinity rejects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from steersman.framework import (
    AffinityTerm,
    BoolColumn,
    DomainCounts,
    GroupingFilterKernel,
    IntColumn,
    NodeInfo,
    NodesView,
    PodDemand,
    PodInfo,
    PodLimit,
    PodLimits,
    ReasonColumn,
    RowFeature,
    Status,
    StatusTable,
    TermKind,
    TermTable,
    Topology,
    unresolvable,
    unschedulable,
)
from steersman.scheduler.plugins.inter_pod_affinity.groups import (
    MIN_ROWS,
    MIN_ROWS_OF_REJECTIONS,
    TermFeatures,
    Weighted,
    domain_feature,
)
from steersman.scheduler.plugins.inter_pod_affinity.pod_weights import (
    MatchedPodWeight,
    ObjectingPodWeight,
    empty_domain_limit,
)
from steersman.scheduler.plugins.inter_pod_affinity.terms import (
    NO_LABELS,
    MatchingTerms,
    TermPods,
    TermsMatcher,
    pods_of_terms,
)

ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH = "node(s) didn't satisfy existing pods anti-affinity rules"
ERR_AFFINITY_RULES_NOT_MATCH = "node(s) didn't match pod affinity rules"
ERR_ANTI_AFFINITY_RULES_NOT_MATCH = "node(s) didn't match pod anti-affinity rules"

TopologyPair: TypeAlias = tuple[str, str]
PairCounts: TypeAlias = Counter[TopologyPair]
"""Number of matches of terms in each topology domain; pairs without any have no entry."""


class FilterState(msgspec.Struct):
    """The required terms of the scheduled pod and the counts of matches, for Filter."""

    pod: PodInfo
    namespace_labels: Mapping[str, str]
    #: Required terms of `pod` with their namespaces resolved.
    affinity_terms: tuple[AffinityTerm, ...]
    anti_affinity_terms: tuple[AffinityTerm, ...]
    #: Existing pods' required anti-affinity terms that `pod` matches.
    existing_anti_affinity: PairCounts = msgspec.field(default_factory=Counter)
    #: Existing pods that match *all* affinity terms of `pod`, once per term.
    affinity: PairCounts = msgspec.field(default_factory=Counter)
    #: Existing pods that match an anti-affinity term of `pod`, once per matching term.
    anti_affinity: PairCounts = msgspec.field(default_factory=Counter)

    def clone(self) -> FilterState:
        return msgspec.structs.replace(
            self,
            existing_anti_affinity=self.existing_anti_affinity.copy(),
            affinity=self.affinity.copy(),
            anti_affinity=self.anti_affinity.copy(),
        )

    @property
    def nothing_to_check(self) -> bool:
        return not (self.affinity_terms or self.anti_affinity_terms or self.existing_anti_affinity)

    def count_terms_of(self, existing: PodInfo, node: NodeInfo, by: int) -> None:
        """Count the anti-affinity terms of `existing` that match the scheduled pod."""
        for term in existing.shape.required_anti_affinity:
            if term.matches(self.pod, self.namespace_labels):
                _count(self.existing_anti_affinity, node, term.topology_key, by)

    def count_as_target(self, existing: PodInfo, node: NodeInfo, by: int) -> None:
        """Count `existing` if it matches the terms of the scheduled pod."""
        if matches_all(self.affinity_terms, existing):
            for term in self.affinity_terms:
                _count(self.affinity, node, term.topology_key, by)
        for term in self.anti_affinity_terms:
            if term.matches(existing, NO_LABELS):
                _count(self.anti_affinity, node, term.topology_key, by)


def matches_all(terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
    """Return whether there are terms and the pod matches all of them, as affinity requires."""
    return bool(terms) and all(term.matches(pod, NO_LABELS) for term in terms)


def fill_counts(
    state: FilterState, nodes: Iterable[NodeInfo], nodes_with_required_anti_affinity: Iterable[NodeInfo]
) -> None:
    """Count every pod of the cluster in a new state."""
    for node in nodes_with_required_anti_affinity:
        for existing in node.pods_with_required_anti_affinity:
            state.count_terms_of(existing, node, 1)
    if not state.affinity_terms and not state.anti_affinity_terms:
        return
    for node in nodes:
        for existing in node.pods:
            state.count_as_target(existing, node, 1)


def check(state: FilterState, node: NodeInfo) -> Status | None:
    """Check the node against the terms of the pod and of existing pods."""
    if not _satisfies_affinity(state, node):
        return unresolvable(ERR_AFFINITY_RULES_NOT_MATCH)
    if not _satisfies_anti_affinity(state, node):
        return unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH)
    if not _satisfies_existing_anti_affinity(state, node):
        return unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH)
    return None


def _satisfies_affinity(state: FilterState, node: NodeInfo) -> bool:
    keys = [term.topology_key for term in state.affinity_terms]
    if any(key not in node.labels for key in keys):
        return False
    if all(state.affinity[key, node.labels[key]] > 0 for key in keys):
        return True
    return _is_first_of_its_series(state)


def _is_first_of_its_series(state: FilterState) -> bool:
    """Return whether no pod matches the terms but the pod itself does: it may start the group."""
    return not state.affinity and matches_all(state.affinity_terms, state.pod)


def _satisfies_anti_affinity(state: FilterState, node: NodeInfo) -> bool:
    pairs = (
        (t.topology_key, node.labels[t.topology_key])
        for t in state.anti_affinity_terms
        if t.topology_key in node.labels
    )
    return not any(state.anti_affinity[pair] > 0 for pair in pairs)


def _satisfies_existing_anti_affinity(state: FilterState, node: NodeInfo) -> bool:
    return not any(state.existing_anti_affinity[pair] > 0 for pair in node.labels.items())


def _count(counts: PairCounts, node: NodeInfo, topology_key: str, by: int) -> None:
    value = node.labels.get(topology_key)
    if value is None:
        return
    pair = topology_key, value
    counts[pair] += by
    if counts[pair] == 0:
        del counts[pair]


# -- the vector form ---------------------------------------------------------------------------------------------------


class RequiredTermsKernel(GroupingFilterKernel):
    """Affinity and anti-affinity of one pod, and the anti-affinity of existing pods against it."""

    follows_state = True

    def __init__(self, pod: PodInfo, view: NodesView, statuses: StatusTable) -> None:
        self._pod = pod
        self._view = view
        self._affinity = _Affinity(pod, view)
        #: Pods that match an anti-affinity term of the pod.
        self._unwanted = pods_of_terms(pod.shape.required_anti_affinity, view)
        self._objecting = MatchingTerms(pod, view, TermKind.REQUIRED_ANTI_AFFINITY)
        self.follows_terms = not (self._affinity.tables or self._unwanted)
        self._features = TermFeatures(view, partial(_rejecting_tables, self._unwanted, self._objecting))
        self._reason_far = statuses.id_of(unresolvable(ERR_AFFINITY_RULES_NOT_MATCH))
        self._reason_near = statuses.id_of(unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH))
        self._reason_objection = statuses.id_of(unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH))

    def skipped(self) -> bool:
        return not (self._affinity.tables or self._unwanted or self._objecting.tables())

    def rejected(self) -> BoolColumn | None:
        return _either(self._affinity.far_rows(), _rows_near_any([*self._unwanted_tables(), *self._objecting.tables()]))

    def reasons(self) -> ReasonColumn:
        """Return the reason of the first failed check, which is therefore written last."""
        reasons = np.zeros(self._view.capacity, np.int32)
        for reason, rows in (
            (self._reason_objection, _rows_near_any(self._objecting.tables())),
            (self._reason_near, _rows_near_any(self._unwanted_tables())),
            (self._reason_far, self._affinity.far_rows()),
        ):
            if rows is not None:
                reasons[rows] = reason
        return reasons

    def features(self) -> Sequence[RowFeature] | None:
        if self._view.capacity < (MIN_ROWS if self._affinity.tables else MIN_ROWS_OF_REJECTIONS):
            return None
        own = ((1, table) for table in self._unwanted_tables())
        return [*self._affinity.features(), *self._features.features(own)]

    def has_current_features(self) -> bool:
        return self._features.are_current()

    def rejected_groups(self, groups: Sequence[tuple[int, ...]]) -> Sequence[bool]:
        own = len(self._affinity.tables)
        near = self._features.sums_of([group[own:] for group in groups] if own else groups)
        if not own:
            return [count > 0 for count in near]
        far = self._affinity.far_groups(groups)
        return [is_far or count > 0 for is_far, count in zip(far, near, strict=True)]

    def pod_limits(self, coming: Iterable[PodInfo]) -> PodLimits:
        """Return the limits: no pod in its domains with an anti-affinity match either way."""
        unwanted = [
            empty_domain_limit(
                MatchedPodWeight(pods.matcher, self._view.namespace_labels), pods.table.counts, pods.table.topology
            )
            for pods in self._unwanted
        ]
        demand = self._affinity if self._affinity.tables else None
        return PodLimits(demand, (*unwanted, *self._limits_of_others(coming)))

    def _unwanted_tables(self) -> list[DomainCounts]:
        return [pods.table for pods in self._unwanted]

    def _limits_of_others(self, coming: Iterable[PodInfo]) -> Iterator[PodLimit]:
        """Yield one limit for each topology key of an existing or added term against the pod."""
        counts: dict[Topology, IntColumn | None] = {}
        for table in self._objecting.tables():
            counts[table.topology] = table.add_weighted(counts.get(table.topology), 1)
        for key in {term.topology_key for pod in coming for term in pod.shape.required_anti_affinity}:
            counts.setdefault(self._view.topology(key), None)
        for topology, by_domain in counts.items():
            weight = ObjectingPodWeight(self._pod, self._view.namespace_labels(self._pod.namespace), topology.key)
            yield empty_domain_limit(weight, by_domain, topology)


def _rejecting_tables(unwanted: Sequence[TermPods], objecting: MatchingTerms) -> Iterator[Weighted]:
    """Yield the tables whose pods keep a pod away. A function: a method would make a reference
    cycle."""
    yield from ((1, pods.table) for pods in unwanted if pods.table.total)
    yield from ((1, table) for table in objecting.tables())


class _Affinity(PodDemand):
    """The affinity terms of a pod: a single existing pod must match all of them."""

    def __init__(self, pod: PodInfo, view: NodesView) -> None:
        terms = pod.shape.required_affinity
        #: Pods that match all terms, by domain of each topology key.
        self.tables: list[DomainCounts] = []
        self._matches_itself = False
        if terms:
            matcher = TermsMatcher.from_terms(*terms)
            found = view.matching(matcher)
            keys = dict.fromkeys(term.topology_key for term in terms)
            self.tables = [found.by_domain(view.topology(key)) for key in keys]
            self._matches_itself = matcher.matches(pod, view.namespace_labels(pod.namespace))
            self.weight = MatchedPodWeight(matcher, view.namespace_labels)

    def features(self) -> list[RowFeature]:
        """Return the domain of each row by topology key, or its pods if every row has a domain of
        its own."""
        return [_pods_feature(t) if t.topology.one_row_per_domain else domain_feature(t.topology) for t in self.tables]

    def far_groups(self, groups: Sequence[tuple[int, ...]]) -> list[bool]:
        """Return `far_rows` by group. The first features are those of this object."""
        far = [False] * len(groups)
        first_of_its_series = self._matches_itself and not any(table.total for table in self.tables)
        for at, table in enumerate(self.tables):
            if table.topology.one_row_per_domain:
                far = [each or not (first_of_its_series or group[at]) for each, group in zip(far, groups, strict=True)]
                continue
            pods_in = table.cell
            far = [
                each or not group[at] or not (first_of_its_series or pods_in[group[at]])
                for each, group in zip(far, groups, strict=True)
            ]
        return far

    def far_rows(self) -> BoolColumn | None:
        """Return the rows without a label or without a matching pod in one of their domains."""
        far: BoolColumn | None = None
        first_of_its_series = self._matches_itself and not any(table.total for table in self.tables)
        for table in self.tables:
            domains = np.zeros(table.topology.size, np.bool_) if first_of_its_series else table.counts == 0
            domains[0] = True
            far = _either(far, table.topology.gather(domains))
        return far

    def unmet_without(self, gone: IntColumn) -> BoolColumn:
        unmet = np.zeros(len(gone), np.bool_)
        no_match_anywhere = np.full(len(gone), self._matches_itself)
        for table in self.tables:
            has_label = table.topology.domain != 0
            no_match_anywhere &= table.total - gone * has_label == 0
            unmet |= table.topology.gather(table.counts) - gone <= 0
        unmet &= ~no_match_anywhere
        for table in self.tables:
            unmet |= table.topology.domain == 0
        return unmet


def _pods_feature(table: DomainCounts) -> RowFeature:
    """Return the matching pods on each row. Every row has a domain of its own."""
    topology = table.topology
    return RowFeature(lambda: topology.gather(table.counts), lambda row: table.pods_in(topology.cell[row]), True)


def _rows_near_any(tables: Iterable[DomainCounts | TermTable]) -> BoolColumn | None:
    """Return the rows in a domain where some table counts a pod."""
    inhabited: dict[Topology, BoolColumn] = {}
    for table in tables:
        if table.total:
            topology = table.topology
            inhabited[topology] = table.mark_inhabited(inhabited.get(topology))
    near: BoolColumn | None = None
    for topology, domains in inhabited.items():
        domains[0] = False
        near = _either(near, topology.gather(domains))
    return near


def _either(some: BoolColumn | None, others: BoolColumn | None) -> BoolColumn | None:
    if some is None or others is None:
        return others if some is None else some
    return some | others
