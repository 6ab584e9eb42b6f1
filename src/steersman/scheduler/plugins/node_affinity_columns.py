# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeAffinity: terms are conjunctions of label columns of the view.

Required terms are normalised to a set of alternatives, each a set of conditions, so that equal
requirements share their columns. So do all pods of a DaemonSet, which differ only in the node that
PreFilter restricts them to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from steersman.api import NAME_FIELD, AnyTerm, FieldRequirement, PreferredTerms, RequiredNodeAffinity, Requirement, Term
from steersman.framework import (
    ALL_ROWS,
    MAX_NODE_SCORE,
    AnyIntColumn,
    BoolColumn,
    ClusterScoreKernel,
    Feasible,
    FilterKernel,
    IntColumn,
    KernelFault,
    NodesView,
    Normalize,
    ReasonColumn,
    Rows,
    ScoreKernel,
    invalid_score,
)

#: A conjunction: all conditions must hold.
Conditions = frozenset[Requirement | FieldRequirement]
#: A disjunction: one alternative must hold. The empty set matches nothing.
Alternatives = frozenset[Conditions]
#: Terms with the weights that they add to the score.
Preferences = frozenset[tuple[Conditions, int]]

EVERYTHING: Alternatives = frozenset({frozenset()})


def alternatives(selector: AnyTerm) -> Alternatives:
    return frozenset(_conditions(term) for term in selector.terms if not term.errors)


def demand(required: RequiredNodeAffinity, restricted_to_names: bool) -> Alternatives:
    """Return the required terms; with `restricted_to_names`, for nodes named by some term only."""
    if required.labels.requirements is None:
        return frozenset()
    by_labels: Conditions = frozenset(required.labels.requirements)
    selector = required.node_selector
    if selector is None:
        return frozenset({by_labels})
    if restricted_to_names and _differ_in_names_only(selector.terms):
        return frozenset({by_labels | frozenset(selector.terms[0].labels)})
    return frozenset(by_labels | conditions for conditions in alternatives(selector))


def _differ_in_names_only(terms: tuple[Term, ...]) -> bool:
    """Return whether matching the labels of any term is enough for a node that a term names."""
    named = all(not term.errors and all(map(_is_name, term.fields)) for term in terms)
    return named and len({frozenset(term.labels) for term in terms}) == 1


def _is_name(field: FieldRequirement) -> bool:
    return field.field == NAME_FIELD and not field.negated


def _conditions(term: Term) -> Conditions:
    return frozenset(term.labels) | frozenset(term.fields)


def preferences(preferred: PreferredTerms, added: PreferredTerms | None) -> Preferences:
    """Return the terms of the pod and of the configuration with their weights; weights of equal
    terms are added."""
    weights: Counter[Conditions] = Counter()
    for weighted in (*preferred.terms, *(added.terms if added is not None else ())):
        weights[_conditions(weighted.term)] += weighted.weight
    return frozenset(weights.items())


class TermColumn:
    """The rows on which all conditions of a term hold."""

    def __init__(self, view: NodesView, conditions: Conditions) -> None:
        self._view = view
        self._met = [view.requirement(each) for each in conditions if isinstance(each, Requirement)]
        self._met_cells = [met.data for met in self._met]
        self._fields = [each for each in conditions if isinstance(each, FieldRequirement)]

    def rows(self, rows: Rows) -> BoolColumn:
        holds = np.ones(self._view.capacity, np.bool_)
        for met in self._met:
            holds &= met
        for field in self._fields:
            holds &= self._meets(field)
        return holds[rows]

    def row(self, row: int) -> bool:
        for met in self._met_cells:
            if not met[row]:
                return False
        if not self._fields:
            return True
        name = self._view.node(row).metadata.name
        return all(field.matches(name) for field in self._fields)

    def _meets(self, field: FieldRequirement) -> BoolColumn:
        if field.field != NAME_FIELD:
            return np.full(self._view.capacity, field.matches(""))
        meets = np.full(self._view.capacity, field.negated)
        named = self._view.row_of(field.value)
        if named is not None:
            meets[named] = not field.negated
        return meets


class AlternativesColumn:
    """The rows on which at least one of the terms holds."""

    def __init__(self, view: NodesView, terms: Alternatives) -> None:
        self._view = view
        self._terms = [TermColumn(view, term) for term in terms]

    def rows(self, rows: Rows) -> BoolColumn:
        holds = np.zeros(self._view.capacity, np.bool_)[rows]
        for term in self._terms:
            holds |= term.rows(rows)
        return holds

    def row(self, row: int) -> bool:
        return any(term.row(row) for term in self._terms)


class UnmetDemands(FilterKernel):
    """Rejects nodes that fail a demand, with the reason of the first one that fails."""

    def __init__(self, view: NodesView, demands: Iterable[tuple[Alternatives, int]]) -> None:
        self._demands = [(AlternativesColumn(view, demanded), reason) for demanded, reason in demands]

    def rows(self, rows: Rows) -> ReasonColumn:
        (last, reason), *others = reversed(self._demands)
        reasons = np.multiply(~last.rows(rows), reason, dtype=np.int32)
        for column, reason in others:
            reasons[~column.rows(rows)] = reason
        return reasons

    def row(self, row: int) -> int:
        for column, reason in self._demands:
            if not column.row(row):
                return reason
        return 0


class PreferredNodes(ScoreKernel):
    """Sums the weights of the matching terms."""

    normalize = Normalize.DEFAULT

    def __init__(self, view: NodesView, preferred: Preferences) -> None:
        self._view = view
        self._terms = [(TermColumn(view, conditions), weight) for conditions, weight in preferred]

    def rows(self, rows: Rows) -> IntColumn:
        total = np.zeros(self._view.capacity, np.int64)[rows]
        for term, weight in self._terms:
            total += weight * term.rows(rows)
        return total

    def row(self, row: int) -> int:
        return sum(weight for term, weight in self._terms if term.row(row))


class UnboundedPreferences(ClusterScoreKernel):
    """Preferred terms with negative or huge weights, which only a configuration can contain."""

    def __init__(self, view: NodesView, preferred: Preferences, plugin: str) -> None:
        self._sums = PreferredNodes(view, preferred)
        self._plugin = plugin

    def skipped(self, feasible: Feasible) -> bool:
        return False

    def raw(self, feasible: Feasible) -> IntColumn:
        return self._sums.rows(ALL_ROWS)

    def normalized(self, feasible: Feasible) -> AnyIntColumn | None:
        raw = np.where(feasible.mask, self.raw(feasible), 0)
        greatest = int(raw[feasible.rows].max(initial=0))
        scaled = raw if greatest <= 0 else MAX_NODE_SCORE * np.abs(raw) // greatest * np.sign(raw)
        negative = scaled[scaled < 0]
        if len(negative):
            raise KernelFault(invalid_score(self._plugin, int(negative[0])))
        return scaled
