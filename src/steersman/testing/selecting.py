# SPDX-License-Identifier: Apache-2.0
"""Label and node selectors in a few words, for the builders of pods and workloads.

{"app": "web"}                          labels that must be equal
is_in("zone", "a", "b")                 one expression
(exists("app"), absent("canary"))       several, all of which must hold
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from steersman import api


class Expression(NamedTuple):
    """One requirement on a label (or, for nodes, on a field)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


Selecting: TypeAlias = Mapping[str, str] | Expression | Sequence[Expression] | api.LabelSelector | None
"""Any argument of `label_selector`; None is a missing selector, which matches nothing."""


def is_in(key: str, *values: str) -> Expression:
    return Expression(key, "In", values)


def not_in(key: str, *values: str) -> Expression:
    return Expression(key, "NotIn", values)


def exists(key: str) -> Expression:
    return Expression(key, "Exists")


def absent(key: str) -> Expression:
    return Expression(key, "DoesNotExist")


def greater_than(key: str, value: int) -> Expression:
    """Return an expression for node selectors only."""
    return Expression(key, "Gt", (str(value),))


def less_than(key: str, value: int) -> Expression:
    """Return an expression for node selectors only."""
    return Expression(key, "Lt", (str(value),))


def label_selector(selecting: Selecting) -> api.LabelSelector | None:
    if selecting is None or isinstance(selecting, api.LabelSelector):
        return selecting
    if isinstance(selecting, Mapping):
        return api.LabelSelector(match_labels=dict(selecting))
    expressions = (selecting,) if isinstance(selecting, Expression) else selecting
    return api.LabelSelector(match_expressions=tuple(api.LabelSelectorRequirement(*e) for e in expressions))


def node_selector_term(expressions: Sequence[Expression], fields: Sequence[Expression] = ()) -> api.NodeSelectorTerm:
    return api.NodeSelectorTerm(
        match_expressions=tuple(api.NodeSelectorRequirement(*e) for e in expressions),
        match_fields=tuple(api.NodeSelectorRequirement(*e) for e in fields),
    )


# -- affinities --------------------------------------------------------------------------------------------------------


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
