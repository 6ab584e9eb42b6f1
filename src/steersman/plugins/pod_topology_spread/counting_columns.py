# SPDX-License-Identifier: Apache-2.0
"""Which pods and which nodes a constraint counts, in the form in which `state` keeps them counted.

The vector counterpart of `SpreadConstraint.count_pods` and `counts_node`. Equal matchers and equal rules share their
tables, also between the constraints of different pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from steersman.api import Pod, Taint, Toleration
from steersman.api.node_selectors import NAME_FIELD, FieldRequirement, RequiredNodeAffinity, Term, required
from steersman.api.selectors import Requirement, Selector
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.framework.nodes_view import (
    BoolColumn,
    DomainCounts,
    LabelledPod,
    MatchCounts,
    NodesView,
)
from steersman.plugins.pod_topology_spread.constraints import HONOR, SpreadConstraint

_EFFECTS = (NO_SCHEDULE, NO_EXECUTE)


class SpreadMatcher(msgspec.Struct, frozen=True, cache_hash=True):
    """Implements `framework.nodes_view.PodMatcher`: pods of one namespace that are not terminating."""

    namespace: str
    selector: Selector

    @property
    def namespace_names(self) -> frozenset[str]:
        return frozenset((self.namespace,))

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        if pod.is_terminating or pod.namespace != self.namespace or self.selector.empty:
            return False
        return self.selector.matches(pod.labels)

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return namespace == self.namespace


class NodeRule(msgspec.Struct, frozen=True, cache_hash=True):
    """The rule that decides whether the pods of a node count."""

    #: The node must have all these labels.
    keys: tuple[str, ...] = ()
    #: None: any node will do.
    affinity: RequiredNodeAffinity | None = None
    #: What tolerates the taints of the node; None: taints do not matter.
    tolerations: tuple[Toleration, ...] | None = None
    comparison_operators: bool = False

    @classmethod
    def of(cls, constraint: SpreadConstraint, pod: Pod, keys: Iterable[str], *, comparison_operators: bool) -> NodeRule:
        affinity = required(pod) if constraint.node_affinity_policy == HONOR else None
        honours_taints = constraint.node_taints_policy == HONOR
        return cls(
            keys=tuple(sorted(set(keys))),
            affinity=None if affinity == RequiredNodeAffinity() else affinity,
            tolerations=pod.spec.tolerations if honours_taints else None,
            comparison_operators=honours_taints and comparison_operators,
        )


ANY_NODE = NodeRule()


class CountedNodes:
    """Implements `framework.nodes_view.Eligibility`: the nodes of a view that meet a rule."""

    __slots__ = ("_view", "rule")

    def __init__(self, rule: NodeRule, view: NodesView) -> None:
        self.rule = rule
        self._view = view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountedNodes) and other.rule == self.rule

    def __hash__(self) -> int:
        return hash(self.rule)

    def rows(self) -> BoolColumn:
        rule, view = self.rule, self._view
        counted = view.alive.copy()
        for key in rule.keys:
            counted &= view.topology(key).domain != 0
        if rule.affinity is not None:
            counted &= _admitted(rule.affinity, view)
        if rule.tolerations is not None:
            tolerated = [_tolerates(rule, taints) for taints in view.taints.sets]
            counted &= np.array(tolerated, np.bool_).take(view.taints.ids)
        return counted

    def row(self, row: int) -> bool:
        rule, node = self.rule, self._view.node(row)
        labels = node.metadata.labels
        return (
            all(key in labels for key in rule.keys)
            and (rule.affinity is None or rule.affinity.matches(labels, node.metadata.name))
            and (rule.tolerations is None or _tolerates(rule, node.spec.taints))
        )


def matching_pods(constraint: SpreadConstraint, pod: Pod, view: NodesView) -> MatchCounts:
    """The pods that the constraint counts."""
    return view.matching(SpreadMatcher(pod.metadata.namespace, constraint.selector))


def count_by_domain(constraint: SpreadConstraint, pods: MatchCounts, rule: NodeRule, view: NodesView) -> DomainCounts:
    """The matching pods per domain of the constraint's topology key, on the nodes that count."""
    return pods.by_domain(
        view.topology(constraint.topology_key), None if rule == ANY_NODE else CountedNodes(rule, view)
    )


def _tolerates(rule: NodeRule, taints: Iterable[Taint]) -> bool:
    tolerations = rule.tolerations or ()
    operators = rule.comparison_operators
    return find_untolerated_taint(taints, tolerations, _EFFECTS, comparison_operators=operators) is None


def _admitted(affinity: RequiredNodeAffinity, view: NodesView) -> BoolColumn:
    admitted = _meeting(affinity.labels.requirements or (), view)
    if affinity.node_selector is not None:
        selected = np.zeros(view.capacity, np.bool_)
        for term in affinity.node_selector.terms:
            if not term.errors:
                selected |= _selected(term, view)
        admitted &= selected
    return admitted


def _selected(term: Term, view: NodesView) -> BoolColumn:
    selected = _meeting(term.labels, view)
    for field in term.fields:
        selected &= _named(field, view)
    return selected


def _meeting(requirements: Iterable[Requirement], view: NodesView) -> BoolColumn:
    met = np.ones(view.capacity, np.bool_)
    for requirement in requirements:
        met &= view.requirement(requirement)
    return met


def _named(field: FieldRequirement, view: NodesView) -> BoolColumn:
    if field.field != NAME_FIELD:
        return np.full(view.capacity, field.matches(""))
    named = np.full(view.capacity, field.negated)
    row = view.row_of(field.value)
    if row is not None:
        named[row] = not field.negated
    return named
