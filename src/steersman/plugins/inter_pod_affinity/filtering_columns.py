# SPDX-License-Identifier: Apache-2.0
"""The required terms for all nodes at once: the vector form of `filtering`.

What the scalar form counts per topology pair in every cycle, `state` keeps counted per domain: pods that match the
terms of the pod being scheduled, and pods whose own anti-affinity speaks of it. A domain is judged once, the verdicts are
spread to the rows. Domain 0, the rows without the label, is in no pair: anti-affinity ignores it, affinity rejects it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steersman.framework.columns import ClusterFilterKernel, StatusTable
from steersman.framework.nodes_view import (
    BoolColumn,
    DomainCounts,
    NodesView,
    ReasonColumn,
    TermKind,
    TermTable,
    Topology,
)
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import unresolvable, unschedulable
from steersman.plugins.inter_pod_affinity.existing_terms import MatchingTerms
from steersman.plugins.inter_pod_affinity.filtering import (
    ERR_AFFINITY_RULES_NOT_MATCH,
    ERR_ANTI_AFFINITY_RULES_NOT_MATCH,
    ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH,
)
from steersman.plugins.inter_pod_affinity.matchers import TermsMatcher, pods_of_term


class RequiredTermsKernel(ClusterFilterKernel):
    """Affinity and anti-affinity of one pod, and the anti-affinity of others against it."""

    def __init__(self, pod: PodInfo, view: NodesView, statuses: StatusTable) -> None:
        self._view = view
        self._affinity = _Affinity(pod, view)
        #: Pods that match an anti-affinity term of the pod.
        self._unwanted = [pods_of_term(term, view) for term in pod.shape.required_anti_affinity]
        self._objecting = MatchingTerms(pod, view, TermKind.REQUIRED_ANTI_AFFINITY)
        self.follows_terms = not (self._affinity.tables or self._unwanted)
        self._reason_far = statuses.id_of(unresolvable(ERR_AFFINITY_RULES_NOT_MATCH))
        self._reason_near = statuses.id_of(unschedulable(ERR_ANTI_AFFINITY_RULES_NOT_MATCH))
        self._reason_objection = statuses.id_of(unschedulable(ERR_EXISTING_ANTI_AFFINITY_RULES_NOT_MATCH))

    def skipped(self) -> bool:
        return not (self._affinity.tables or self._unwanted or self._objecting.tables())

    def rejected(self) -> BoolColumn | None:
        return _either(self._affinity.far_rows(), _rows_near_any([*self._unwanted, *self._objecting.tables()]))

    def reasons(self) -> ReasonColumn:
        """The first check that fails gives the reason; so the last one is written first."""
        reasons = np.zeros(self._view.capacity, np.int32)
        for reason, rows in (
            (self._reason_objection, _rows_near_any(self._objecting.tables())),
            (self._reason_near, _rows_near_any(self._unwanted)),
            (self._reason_far, self._affinity.far_rows()),
        ):
            if rows is not None:
                reasons[rows] = reason
        return reasons


class _Affinity:
    """The affinity terms of a pod: one and the same running pod must match all of them."""

    def __init__(self, pod: PodInfo, view: NodesView) -> None:
        terms = pod.shape.required_affinity
        #: Pods that match all terms, by domain of each topology key.
        self.tables: list[DomainCounts] = []
        self._matches_itself = False
        if terms:
            matcher = TermsMatcher.of(*terms)
            found = view.matching(matcher)
            keys = dict.fromkeys(term.topology_key for term in terms)
            self.tables = [found.by_domain(view.topology(key)) for key in keys]
            self._matches_itself = matcher.matches(pod, view.namespace_labels(pod.namespace))

    def far_rows(self) -> BoolColumn | None:
        """Rows that lack a label or, in one of their domains, the pod that is asked for."""
        far: BoolColumn | None = None
        first_of_its_series = self._matches_itself and not any(table.total for table in self.tables)
        for table in self.tables:
            domains = np.zeros(table.topology.size, np.bool_) if first_of_its_series else table.counts == 0
            domains[0] = True
            far = _either(far, table.topology.gather(domains))
        return far


def _rows_near_any(tables: Iterable[DomainCounts | TermTable]) -> BoolColumn | None:
    """Rows in a domain where some table counts a pod."""
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
