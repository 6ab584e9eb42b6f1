# SPDX-License-Identifier: Apache-2.0
"""Weights of pods for the required terms, for what-if queries: see `framework.pod_limits`.

Used by the kernel in `filtering`. Equal weights compare equal and share their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from steersman.framework import NO_LIMIT, IntColumn, PodInfo, PodLimit, PodWeight, Topology, weighing
from steersman.scheduler.plugins.inter_pod_affinity.terms import TermsMatcher, TermsSum


@dataclass(frozen=True, slots=True)
class MatchedPodWeight:
    """The weight of a pod by a matcher of terms of the scheduled pod."""

    matcher: TermsMatcher | TermsSum
    namespace_labels: Callable[[str], Mapping[str, str]] = field(compare=False)

    def weigh(self, pod: PodInfo) -> int:
        return int(weighing(self.matcher)(pod, self.namespace_labels(pod.namespace)))


class ObjectingPodWeight:
    """The number of a pod's required anti-affinity terms with one key against the scheduled pod."""

    __slots__ = ("_identity", "_namespace_labels", "_pod", "_topology_key")

    def __init__(self, pod: PodInfo, namespace_labels: Mapping[str, str], topology_key: str) -> None:
        self._pod = pod
        self._namespace_labels = namespace_labels
        self._topology_key = topology_key
        self._identity = (topology_key, pod.namespace, frozenset(pod.labels.items()))

    def weigh(self, pod: PodInfo) -> int:
        key, terms = self._topology_key, pod.shape.required_anti_affinity
        return sum([t.topology_key == key and t.matches(self._pod, self._namespace_labels) for t in terms])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectingPodWeight) and other._identity == self._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def empty_domain_limit(weight: PodWeight, by_domain: IntColumn | None, topology: Topology) -> PodLimit:
    """Return the limit of domains without such pods. `by_domain` counts existing pods, if any."""
    domains = topology.domain
    has_label = domains != 0
    spare = np.zeros(len(domains), np.int64) if by_domain is None else -by_domain.take(domains)
    spare[~has_label] = NO_LIMIT
    return PodLimit(weight, spare, has_label)
