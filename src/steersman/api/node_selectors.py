# SPDX-License-Identifier: Apache-2.0
"""Compiled node selectors: required and preferred nodes of pods.

Plugins start from `required` and `preferred`; `strict` and `lazy` compile a bare `NodeSelector` of
volumes, devices or plugin configuration. All compiled values are hashable, down to requirements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from steersman.api import field_errors, selectors
from steersman.api.pod import Pod
from steersman.api.scheduling import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from steersman.api.selectors import Operator, Requirement, Selector
from steersman.base import InputError

NAME_FIELD: Final = "metadata.name"
NOT_ONE_ELEMENT: Final = "must have one element"
_FIELD_OPERATORS: Final = (Operator.IN, Operator.NOT_IN)


class FieldRequirement(msgspec.Struct, frozen=True, cache_hash=True):
    """Requirement on a node field; only the name can be selected by."""

    field: str
    value: str
    negated: bool = False

    def matches(self, node_name: str) -> bool:
        """Return whether the requirement holds for the node with this name."""
        value = node_name if self.field == NAME_FIELD else ""
        return (value == self.value) is not self.negated


class Term(msgspec.Struct, frozen=True, cache_hash=True):
    """Requirements that must all hold. A term with errors matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Return whether the term matches a node with these labels and name."""
        if self.errors or not all(requirement.matches(labels) for requirement in self.labels):
            return False
        return not node_name or all(requirement.matches(node_name) for requirement in self.fields)


class AnyTerm(msgspec.Struct, frozen=True, cache_hash=True):
    """Compiled `NodeSelector`: at least one term must match; without terms, nothing matches."""

    terms: tuple[Term, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Return whether a node with these labels and name is selected."""
        return any(term.matches(labels, node_name) for term in self.terms)

    @property
    def error(self) -> str | None:
        """Errors of the terms, to be reported for a node that no other term matches."""
        errors = [error for term in self.terms for error in term.errors]
        return field_errors.aggregate(errors) if errors else None


class RequiredNodeAffinity(msgspec.Struct, frozen=True, cache_hash=True):
    """Node requirements of a pod: `spec.nodeSelector` and the required node affinity."""

    labels: Selector = selectors.EVERYTHING
    node_selector: AnyTerm | None = None

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Return whether the pod may run on a node with these labels and name."""
        if not self.labels.matches(labels):
            return False
        return self.node_selector is None or self.node_selector.matches(labels, node_name)


class WeightedTerm(msgspec.Struct, frozen=True, cache_hash=True):
    term: Term
    weight: int


class PreferredTerms(msgspec.Struct, frozen=True, cache_hash=True):
    """Compiled `PreferredSchedulingTerm`s."""

    terms: tuple[WeightedTerm, ...] = ()

    def score(self, labels: Mapping[str, str], node_name: str) -> int:
        """Return the total weight of the terms that match the node."""
        return sum(weighted.weight for weighted in self.terms if weighted.term.matches(labels, node_name))


def required(pod: Pod) -> RequiredNodeAffinity:
    """Compile the node requirements of a pod."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    selector = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return RequiredNodeAffinity(
        labels=selectors.from_labels(pod.spec.node_selector),
        node_selector=None if selector is None else lazy(selector),
    )


def preferred(terms: Sequence[PreferredSchedulingTerm], path: str = "") -> PreferredTerms:
    """Compile terms. Raises `InputError` with all errors. Terms without weight or requirements are
    dropped unchecked."""
    compiled = [
        WeightedTerm(_term(term.preference, field_errors.item(path, index)), term.weight)
        for index, term in enumerate(terms)
        if term.weight and not _is_empty(term.preference)
    ]
    errors = [error for weighted in compiled for error in weighted.term.errors]
    if errors:
        raise InputError(field_errors.aggregate(errors))
    return PreferredTerms(tuple(compiled))


def strict(selector: NodeSelector, path: str = "") -> AnyTerm:
    """Compile a selector. Raises `InputError` with all errors."""
    compiled = lazy(selector, path)
    if compiled.error is not None:
        raise InputError(compiled.error)
    return compiled


def lazy(selector: NodeSelector, path: str = "") -> AnyTerm:
    """Compile a selector; terms with errors match nothing and do not affect others."""
    terms_path = field_errors.child(path, "nodeSelectorTerms")
    return AnyTerm(
        tuple(
            _term(term, field_errors.item(terms_path, index))
            for index, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _term(term: NodeSelectorTerm, path: str) -> Term:
    errors: list[str] = []
    labels = []
    for index, expression in enumerate(term.match_expressions):
        place = field_errors.item(field_errors.child(path, "matchExpressions"), index)
        labels += _label_requirement(expression, place, errors)
    fields = []
    for index, expression in enumerate(term.match_fields):
        place = field_errors.item(field_errors.child(path, "matchFields"), index)
        fields += _field_requirement(expression, place, errors)
    return Term(tuple(labels), tuple(fields), tuple(errors))


def _label_requirement(expression: NodeSelectorRequirement, path: str, errors: list[str]) -> list[Requirement]:
    """Return the requirement, or [] after appending to `errors`."""
    if expression.operator not in tuple(Operator):
        operator_path = field_errors.child(path, "operator")
        errors.append(field_errors.not_supported(operator_path, expression.operator, tuple(Operator)))
        return []
    operator = Operator(expression.operator)
    wrong = selectors.requirement_errors(expression.key, operator, expression.values, path)
    errors += wrong
    return [] if wrong else [selectors.requirement(expression.key, operator, expression.values)]


def _field_requirement(expression: NodeSelectorRequirement, path: str, errors: list[str]) -> list[FieldRequirement]:
    """Return the requirement, or [] after appending to `errors`."""
    if expression.operator not in _FIELD_OPERATORS:
        operator_path = field_errors.child(path, "operator")
        errors.append(field_errors.not_supported(operator_path, expression.operator, _FIELD_OPERATORS))
        return []
    if len(expression.values) != 1:
        errors.append(field_errors.invalid(field_errors.child(path, "values"), expression.values, NOT_ONE_ELEMENT))
        return []
    return [FieldRequirement(expression.key, expression.values[0], expression.operator == Operator.NOT_IN)]
