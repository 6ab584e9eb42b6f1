# SPDX-License-Identifier: Apache-2.0
"""The vector form of NodeAffinity: terms are conjunctions of label columns, which the view keeps up to date.

What a pod demands is brought into one form, alternatives of which one must hold: a set of terms, each a set of
conditions. Pods that write the same in different ways share their columns, and so do all pods of a DaemonSet, which
differ only in the node that PreFilter restricts them to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from steersman.api.node_selectors import (
    NAME_FIELD,
    AnyTerm,
    FieldRequirement,
    PreferredTerms,
    RequiredNodeAffinity,
    Term,
)
from steersman.api.selectors import Requirement
from steersman.framework.columns import (
    ClusterScoreKernel,
    Feasible,
    FilterKernel,
    KernelFault,
    Normalize,
    ScoreKernel,
)
from steersman.framework.nodes_view import (
    ALL_ROWS,
    AnyIntColumn,
    BoolColumn,
    IntColumn,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.plugin import MAX_NODE_SCORE, invalid_score

#: All must hold.
Conditions = frozenset[Requirement | FieldRequirement]
#: One must hold; without any, nothing matches.
Alternatives = frozenset[Conditions]
#: What matches counts with its weight.
Preferences = frozenset[tuple[Conditions, int]]

EVERYTHING: Alternatives = frozenset({frozenset()})


def alternatives(selector: AnyTerm) -> Alternatives:
    return frozenset(_conditions(term) for term in selector.terms if not term.errors)


def demand(required: RequiredNodeAffinity, restricted_to_names: bool) -> Alternatives:
    """The demands on a node; with `restricted_to_names`, of a node that some term names: no other is asked about."""
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
    """Whether a node that one of the terms names meets the terms as soon as it meets the labels of any."""
    named = all(not term.errors and all(map(_is_name, term.fields)) for term in terms)
    return named and len({frozenset(term.labels) for term in terms}) == 1


def _is_name(field: FieldRequirement) -> bool:
    return field.field == NAME_FIELD and not field.negated


def _conditions(term: Term) -> Conditions:
    return frozenset(term.labels) | frozenset(term.fields)


def preferences(preferred: PreferredTerms, added: PreferredTerms | None) -> Preferences:
    """The terms of both with their weights, those of equal terms added up."""
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
    """The rows on which one of the terms holds."""

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
    """Rejects nodes that fail a demand, for the reason that goes with the first one that they fail."""

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
    """Sums the weights of the terms that hold."""

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
    """The preferred terms with weights that no API server admits, but a configuration may hold: negative or huge ones."""

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
