# SPDX-License-Identifier: Apache-2.0
"""The budget of a scheduling cycle: a pod whose terms would take seconds of CPU time fails with a
message.

Cycles run one after the other, so the work for one tenant's pod delays all pods. The algorithms are
linear in the terms of a pod and in the nodes and label classes that they are compared with, so the
work is known before it is done. See docs/adr/0046-budget-of-a-cycle.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api import Affinity, NodeSelectorTerm, PodSpec
from steersman.framework import AffinityTerm, PodInfo, PodShape, Status, error

#: Maximum number of comparisons of a term with a node or label class: a few seconds of CPU time.
MAX_COMPARISONS: Final = 250_000_000
MESSAGE: Final = (
    "the pod has {terms} scheduling terms: comparing them with {nodes} nodes and {classes} kinds of running pods exceeds "
    "the budget of a scheduling cycle ({most} comparisons); use fewer affinity terms, spread constraints or resources"
)


def over_budget(pod: PodInfo, nodes: int, label_classes: int) -> Status | None:
    """Return the error for a pod that exceeds the budget, or None."""
    if not pod.shape.is_large:
        return None
    terms = term_count(pod.shape)
    if terms * (nodes + label_classes) <= MAX_COMPARISONS:
        return None
    return error(MESSAGE.format(terms=terms, nodes=nodes, classes=label_classes, most=MAX_COMPARISONS))


def term_count(shape: PodShape) -> int:
    """Return the number of conditions to compare with nodes and running pods."""
    spec = shape.spec
    pod_terms = (
        *shape.required_affinity,
        *shape.required_anti_affinity,
        *shape.preferred_affinity,
        *shape.preferred_anti_affinity,
    )
    conditions = sum(map(_conditions_of_term, pod_terms)) + _conditions_of_constraints(spec)
    conditions += len(spec.node_selector) + len(spec.tolerations) + len(shape.requests) + len(shape.host_ports)
    return conditions if spec.affinity is None else conditions + sum(map(_expressions, _node_terms(spec.affinity)))


def _conditions_of_term(term: AffinityTerm) -> int:
    return 1 + len(term.selector.requirements or ())


def _conditions_of_constraints(spec: PodSpec) -> int:
    selectors = [constraint.label_selector for constraint in spec.topology_spread_constraints]
    return len(selectors) + sum(len(s.match_labels) + len(s.match_expressions) for s in selectors if s is not None)


def _node_terms(affinity: Affinity) -> Iterable[NodeSelectorTerm]:
    of_nodes = affinity.node_affinity
    if of_nodes is None:
        return ()
    required = of_nodes.required_during_scheduling_ignored_during_execution
    preferred = of_nodes.preferred_during_scheduling_ignored_during_execution
    return (*(() if required is None else required.node_selector_terms), *(p.preference for p in preferred))


def _expressions(term: NodeSelectorTerm) -> int:
    return len(term.match_expressions) + len(term.match_fields)
