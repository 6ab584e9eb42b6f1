# SPDX-License-Identifier: Apache-2.0
"""`matchLabelKeys` and `mismatchLabelKeys`: adds the pod's label values to the label selectors of
its terms.

For pod affinity and anti-affinity terms and topology spread constraints. A term without a selector
matches nothing in any case. A requirement that already exists is not added again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from steersman.api import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)

Labels = Mapping[str, str]
EitherAffinity = TypeVar("EitherAffinity", PodAffinity, PodAntiAffinity)

_replace = msgspec.structs.replace


def merged(spec: PodSpec, labels: Labels) -> PodSpec:
    affinity = _affinity(spec.affinity, labels) if spec.affinity is not None else None
    constraints = spec.topology_spread_constraints
    if any(constraint.match_label_keys for constraint in constraints):
        constraints = tuple(_constraint(constraint, labels) for constraint in constraints)
    if affinity is spec.affinity and constraints is spec.topology_spread_constraints:
        return spec
    return _replace(spec, affinity=affinity, topology_spread_constraints=constraints)


def depends_on_labels(spec: PodSpec) -> bool:
    """Return whether pods with this spec may be completed differently depending on their labels."""
    if any(constraint.match_label_keys for constraint in spec.topology_spread_constraints):
        return True
    affinity = spec.affinity
    return affinity is not None and any(
        any(map(_has_keys, _all_terms(half))) for half in (affinity.pod_affinity, affinity.pod_anti_affinity) if half
    )


def _affinity(affinity: Affinity, labels: Labels) -> Affinity:
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    merged_near = _terms(near, labels) if near is not None else None
    merged_apart = _terms(apart, labels) if apart is not None else None
    if merged_near is near and merged_apart is apart:
        return affinity
    return _replace(affinity, pod_affinity=merged_near, pod_anti_affinity=merged_apart)


def _terms(affinity: EitherAffinity, labels: Labels) -> EitherAffinity:
    required: tuple[PodAffinityTerm, ...] = affinity.required_during_scheduling_ignored_during_execution
    preferred: tuple[WeightedPodAffinityTerm, ...] = affinity.preferred_during_scheduling_ignored_during_execution
    if not any(map(_has_keys, _all_terms(affinity))):
        return affinity
    return _replace(
        affinity,
        required_during_scheduling_ignored_during_execution=tuple(_term(term, labels) for term in required),
        preferred_during_scheduling_ignored_during_execution=tuple(_weighted(term, labels) for term in preferred),
    )


def _all_terms(affinity: PodAffinity | PodAntiAffinity) -> tuple[PodAffinityTerm, ...]:
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    required = affinity.required_during_scheduling_ignored_during_execution
    return (*required, *(weighted.pod_affinity_term for weighted in preferred))


def _has_keys(term: PodAffinityTerm) -> bool:
    return bool(term.match_label_keys or term.mismatch_label_keys)


def _weighted(weighted: WeightedPodAffinityTerm, labels: Labels) -> WeightedPodAffinityTerm:
    return _replace(weighted, pod_affinity_term=_term(weighted.pod_affinity_term, labels))


def _term(term: PodAffinityTerm, labels: Labels) -> PodAffinityTerm:
    if term.label_selector is None:
        return term
    selector = _with_own_labels(term.label_selector, term.match_label_keys, "In", labels)
    selector = _with_own_labels(selector, term.mismatch_label_keys, "NotIn", labels)
    return _replace(term, label_selector=selector)


def _constraint(constraint: TopologySpreadConstraint, labels: Labels) -> TopologySpreadConstraint:
    if constraint.label_selector is None:
        return constraint
    selector = _with_own_labels(constraint.label_selector, constraint.match_label_keys, "In", labels)
    return _replace(constraint, label_selector=selector)


def _with_own_labels(selector: LabelSelector, keys: tuple[str, ...], operator: str, labels: Labels) -> LabelSelector:
    present = set(selector.match_expressions)
    own = [LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],)) for key in keys if key in labels]
    added = [requirement for requirement in dict.fromkeys(own) if requirement not in present]
    return _replace(selector, match_expressions=(*selector.match_expressions, *added)) if added else selector
