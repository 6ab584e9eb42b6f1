# SPDX-License-Identifier: Apache-2.0
"""Matchers of counted pods and rules of counted nodes, for the count tables of `state`.

The vector counterpart of `SpreadConstraint.count_pods` and `counts_node`. Equal matchers and equal
rules share their tables, also between the constraints of different pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from steersman.api import (
    NAME_FIELD,
    NO_EXECUTE,
    NO_SCHEDULE,
    FieldRequirement,
    Pod,
    RequiredNodeAffinity,
    Requirement,
    Selector,
    Taint,
    Term,
    Toleration,
    find_untolerated_taint,
    required,
)
from steersman.base import CacheSpec, Memo
from steersman.framework import BoolColumn, DomainCounts, LabelledPod, MatchCounts, NodesView
from steersman.scheduler.plugins.pod_topology_spread.constraints import HONOR, SpreadConstraint

_EFFECTS = (NO_SCHEDULE, NO_EXECUTE)


class SpreadMatcher(msgspec.Struct, frozen=True, cache_hash=True):
    """Implements `framework.nodes_view.PodMatcher`: non-terminating pods of one namespace."""

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
    #: The required node affinity; None admits any node.
    affinity: RequiredNodeAffinity | None = None
    #: The tolerations for the node's taints; None if taints do not matter.
    tolerations: tuple[Toleration, ...] | None = None
    comparison_operators: bool = False


ANY_NODE = NodeRule()


class NodeRules:
    """The rules of a pod's constraints, shared by all constraints with the same policies."""

    def __init__(self, pod: Pod, keys: Iterable[str], view: NodesView, *, comparison_operators: bool) -> None:
        self._pod = pod
        self._keys = tuple(sorted(set(keys)))
        self._view = view
        self._comparison_operators = comparison_operators
        self._counted: dict[tuple[bool, bool], CountedNodes | None] = {}

    def counted_nodes(self, constraint: SpreadConstraint) -> CountedNodes | None:
        """Return the nodes whose pods the constraint counts; None means all."""
        policies = (constraint.node_affinity_policy == HONOR, constraint.node_taints_policy == HONOR)
        if policies not in self._counted:
            rule = self._rule(*policies)
            self._counted[policies] = None if rule == ANY_NODE else CountedNodes(rule, self._view)
        return self._counted[policies]

    def _rule(self, honours_affinity: bool, honours_taints: bool) -> NodeRule:
        affinity = required(self._pod) if honours_affinity else None
        return NodeRule(
            keys=self._keys,
            affinity=None if affinity == RequiredNodeAffinity() else affinity,
            tolerations=self._pod.spec.tolerations if honours_taints else None,
            comparison_operators=honours_taints and self._comparison_operators,
        )


COUNTED_NODES = CacheSpec(
    name="counted nodes",
    attributes=("CountedNodes._rows",),
    contents="the rows whose pods a spread constraint counts",
    key="rule of the nodes",
    invalidation="end of the log of changed nodes (`Memo`)",
    limit="one column for each combination of policies in a kernel",
    reference="`CountedNodes.row` of each row",
    checked_by="tests/plugins/pod_topology_spread/test_columns_equal_scalar_form.py",
)


class CountedNodes:
    """Implements `framework.nodes_view.Eligibility`: the nodes of a view that meet a rule."""

    __slots__ = ("_rows", "_view", "rule")

    def __init__(self, rule: NodeRule, view: NodesView) -> None:
        self.rule = rule
        self._view = view
        self._rows: Memo[BoolColumn] = Memo()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountedNodes) and other.rule == self.rule

    def __hash__(self) -> int:
        return hash(self.rule)

    def rows(self) -> BoolColumn:
        """Return the rows that meet the rule; read-only."""
        return self._rows.get(self._view.node_log.end, self._evaluate)

    def _evaluate(self) -> BoolColumn:
        rule, view = self.rule, self._view
        counted = view.alive.copy()
        for key in rule.keys:
            counted &= view.topology(key).domain != 0
            if not counted.any():
                return counted
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


def matching_pods(constraints: Iterable[SpreadConstraint], pod: Pod, view: NodesView) -> Sequence[MatchCounts]:
    """Return the pods that each of the constraints counts."""
    return view.matching_each([SpreadMatcher(pod.metadata.namespace, c.selector) for c in constraints])


def count_by_domain(constraint: SpreadConstraint, pods: MatchCounts, rules: NodeRules, view: NodesView) -> DomainCounts:
    """Count the matching pods on counted nodes per domain of the constraint's topology key."""
    return pods.by_domain(view.topology(constraint.topology_key), rules.counted_nodes(constraint))


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
