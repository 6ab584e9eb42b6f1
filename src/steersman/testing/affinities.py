# SPDX-License-Identifier: Apache-2.0
"""Adds terms to the affinities of a pod, for `PodBuilder`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from steersman import api
from steersman.testing.selecting import Selecting, label_selector

Affinity = TypeVar("Affinity", api.PodAffinity, api.PodAntiAffinity)


def requiring_node(affinity: api.NodeAffinity | None, term: api.NodeSelectorTerm) -> api.NodeAffinity:
    affinity = affinity or api.NodeAffinity()
    present = affinity.required_during_scheduling_ignored_during_execution or api.NodeSelector()
    required = api.NodeSelector(node_selector_terms=(*present.node_selector_terms, term))
    return msgspec.structs.replace(affinity, required_during_scheduling_ignored_during_execution=required)


def preferring_node(affinity: api.NodeAffinity | None, term: api.NodeSelectorTerm, weight: int) -> api.NodeAffinity:
    affinity = affinity or api.NodeAffinity()
    weighted = api.PreferredSchedulingTerm(weight=weight, preference=term)
    preferred = (*affinity.preferred_during_scheduling_ignored_during_execution, weighted)
    return msgspec.structs.replace(affinity, preferred_during_scheduling_ignored_during_execution=preferred)


def pod_affinity_term(
    topology_key: str, selector: Selecting, namespaces: Iterable[str], namespace_selector: Selecting
) -> api.PodAffinityTerm:
    return api.PodAffinityTerm(
        topology_key=topology_key,
        label_selector=label_selector(selector),
        namespaces=tuple(namespaces),
        namespace_selector=label_selector(namespace_selector),
    )


def with_pod_term(affinity: Affinity, term: api.PodAffinityTerm, required: bool, weight: int) -> Affinity:
    """Return the affinity with one more term, preferred if there is a weight."""
    if not weight and not required:
        raise ValueError("a preferred affinity term needs a weight from 1 to 100")
    if weight:
        weighted = api.WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term)
        preferred = (*affinity.preferred_during_scheduling_ignored_during_execution, weighted)
        return msgspec.structs.replace(affinity, preferred_during_scheduling_ignored_during_execution=preferred)
    terms = (*affinity.required_during_scheduling_ignored_during_execution, term)
    return msgspec.structs.replace(affinity, required_during_scheduling_ignored_during_execution=terms)
