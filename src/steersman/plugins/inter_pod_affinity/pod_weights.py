# SPDX-License-Identifier: Apache-2.0
"""Weights of pods on a node for the required terms, for what-if questions about many nodes: see `framework.pod_limits`.

Used by the kernel in `filtering`. Both weights are `PodWeight`s, so equal ones are found by what they look at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from steersman.framework.nodes_view import IntColumn, NodesView, Topology
from steersman.framework.pod_info import AffinityTerm, PodInfo
from steersman.framework.pod_limits import NO_LIMIT, PodLimit, PodWeight
from steersman.plugins.inter_pod_affinity.terms import TermsMatcher


@dataclass(frozen=True, slots=True)
class MatchedPodWeight:
    """1 for pods that match all of some terms of the pod being scheduled."""

    matcher: TermsMatcher
    namespace_labels: Callable[[str], Mapping[str, str]] = field(compare=False)

    @classmethod
    def of_terms(cls, view: NodesView, *terms: AffinityTerm) -> MatchedPodWeight:
        return cls(TermsMatcher.of(*terms), view.namespace_labels)

    def of(self, pod: PodInfo) -> int:
        return int(self.matcher.matches(pod, self.namespace_labels(pod.namespace)))


class ObjectingPodWeight:
    """How many required anti-affinity terms of a pod, with one topology key, speak of the pod being scheduled."""

    __slots__ = ("_identity", "_namespace_labels", "_pod", "_topology_key")

    def __init__(self, pod: PodInfo, namespace_labels: Mapping[str, str], topology_key: str) -> None:
        self._pod = pod
        self._namespace_labels = namespace_labels
        self._topology_key = topology_key
        self._identity = (topology_key, pod.namespace, frozenset(pod.labels.items()))

    def of(self, pod: PodInfo) -> int:
        key, terms = self._topology_key, pod.shape.required_anti_affinity
        return sum([t.topology_key == key and t.matches(self._pod, self._namespace_labels) for t in terms])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectingPodWeight) and other._identity == self._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def nobody_in_domain(weight: PodWeight, by_domain: IntColumn | None, topology: Topology) -> PodLimit:
    """The limit of a domain that must not have any such pod; `by_domain` are those that are there, None: nobody is."""
    domains = topology.domain
    has_label = domains != 0
    spare = np.zeros(len(domains), np.int64) if by_domain is None else -by_domain.take(domains)
    spare[~has_label] = NO_LIMIT
    return PodLimit(weight, spare, has_label)
