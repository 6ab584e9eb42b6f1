# SPDX-License-Identifier: Apache-2.0
"""Compiled label selectors: hashable `Selector`s from `meta.LabelSelector`.

Equivalent selectors are equal however they are written, so that results can be cached per selector
or requirement. Node selectors use the same requirements, see `steersman.api.node_selectors`.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from steersman.api import field_errors, label_syntax
from steersman.api.meta import LabelSelector
from steersman.base import InputError

EMPTY_SET: Final = "for 'in', 'notin' operators, values set can't be empty"
NOT_EMPTY_SET: Final = "values set must be empty for exists and does not exist"
NOT_ONE_VALUE: Final = "for 'Gt', 'Lt' operators, exactly one value is required"
NOT_AN_INTEGER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INTEGER_LENGTH: Final = 100
"""Maximum length of integers; longer ones are treated as out of range, even with leading zeros."""


class Operator(enum.StrEnum):
    """Operator of a requirement, spelled as in API objects."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_IN: Final = Operator.IN
#: Maximum number of values for linear search; longer lists are bisected.
_FEW_VALUES: Final = 8
#: Maximum number of requirements evaluated one by one; more use a `SelectorSum`.
MAX_SEPARATE_REQUIREMENTS: Final = 16
_LABEL_SELECTOR_OPERATORS: Final = frozenset(
    {Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST},
)


class Requirement(msgspec.Struct, frozen=True, cache_hash=True, order=True):
    """Requirement on a label. `values` are sorted and distinct."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the requirement holds for these labels."""
        return self.matches_value(labels.get(self.key))

    def matches_value(self, value: str | None) -> bool:
        """Return whether the requirement holds for this value of the label, None if absent."""
        match self.operator:
            case Operator.IN:
                return self._lists(value)
            case Operator.NOT_IN:
                return not self._lists(value)
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return value is not None and self._compares(value)

    def _lists(self, value: str | None) -> bool:
        values = self.values
        if len(values) <= _FEW_VALUES or value is None:
            return value in values
        index = bisect_left(values, value)
        return index < len(values) and values[index] == value

    def _compares(self, value: str) -> bool:
        number, bound = parse_int64(value), parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case Operator.IN if len(self.values) == 1:
                return f"{self.key}={values}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.lower()} ({values})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.GT | Operator.LT:
                return f"{self.key}{'>' if self.operator is Operator.GT else '<'}{values}"


class Selector(msgspec.Struct, frozen=True, cache_hash=True):
    """Requirements that must all hold, sorted and distinct; None matches nothing."""

    requirements: tuple[Requirement, ...] | None = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        requirements = self.requirements
        if requirements is None:
            return False
        if len(requirements) > MAX_SEPARATE_REQUIREMENTS:
            return _each_requirement(self).weigh(labels) == len(requirements)
        for requirement in requirements:
            value = labels.get(requirement.key)
            if requirement.operator is _IN and len(requirement.values) == 1:  # inlined common case
                if value != requirement.values[0]:
                    return False
            elif not requirement.matches_value(value):
                return False
        return True

    @property
    def empty(self) -> bool:
        """Whether the selector selects everything, because it has no requirements."""
        return self.requirements == ()

    @property
    def keys(self) -> frozenset[str]:
        """Labels on which the selection depends."""
        return frozenset(requirement.key for requirement in self.requirements or ())

    def add(self, *requirements: Requirement) -> Selector:
        """Return a selector with more requirements; one that matches nothing is unchanged."""
        return self if self.requirements is None else _selector((*self.requirements, *requirements))

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements or ())


#: A label, or a label key with any value.
Place: TypeAlias = tuple[str, str] | str
#: Maximum number of cached results of a `SelectorSum`.
_MAX_SUMS: Final = 4096


class SelectorSum:
    """Sum of the weights of the selectors, out of many, that match a set of labels.

    A requirement that no label can affect evaluates as for an object without labels. Selectors are
    indexed by the labels that can affect them, only these are evaluated, and results are cached by
    the affecting labels. Reference: the sum over `Selector.matches` of every selector.
    """

    __slots__ = ("_affected_by", "_compared", "_known", "_without_labels")

    def __init__(self, weighted: Iterable[tuple[Selector, int]]) -> None:
        self._without_labels = 0
        #: Place → selector, weight, and weight for an object without labels. Keys are for
        #: requirements that any value affects.
        self._affected_by: dict[Place, list[tuple[Selector, int, int]]] = {}
        #: Keys compared by Gt or Lt.
        self._compared: set[str] = set()
        #: Affecting places and compared labels → sum.
        self._known: dict[frozenset[Place], int] = {}
        for selector, weight in weighted:
            requirements = selector.requirements or ()
            base = weight if selector.requirements is not None and all(r.matches({}) for r in requirements) else 0
            self._without_labels += base
            entry = (selector, weight, base)
            for place in {place for requirement in requirements for place in _affecting_labels(requirement)}:
                self._affected_by.setdefault(place, []).append(entry)
            self._compared.update(r.key for r in requirements if r.operator in (Operator.GT, Operator.LT))

    def weigh(self, labels: Mapping[str, str]) -> int:
        """Return the total weight of the selectors that match the labels."""
        places = [place for label in labels.items() for place in (label, label[0]) if place in self._affected_by]
        compared = [(key, labels[key]) for key in self._compared if key in labels]
        cause = frozenset((*places, *compared))
        known = self._known.get(cause)
        if known is None:
            if len(self._known) >= _MAX_SUMS:
                self._known.clear()
            known = self._known[cause] = self._evaluate(places, labels)
        return known

    def _evaluate(self, places: Iterable[Place], labels: Mapping[str, str]) -> int:
        affected = {id(entry): entry for place in places for entry in self._affected_by[place]}
        changes = [(weight if selector.matches(labels) else 0) - base for selector, weight, base in affected.values()]
        return self._without_labels + sum(changes)


def _affecting_labels(requirement: Requirement) -> Iterable[Place]:
    """Return the labels, or keys with any value, that can change the result for no labels."""
    if requirement.operator in (Operator.IN, Operator.NOT_IN):
        return ((requirement.key, value) for value in requirement.values)
    return (requirement.key,)


@lru_cache(maxsize=8)
def _each_requirement(selector: Selector) -> SelectorSum:
    return SelectorSum((Selector((requirement,)), 1) for requirement in selector.requirements or ())


EVERYTHING: Final = Selector(())
NOTHING: Final = Selector(None)


def from_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector: None matches nothing, an empty one everything. Raises `InputError` with
    upstream's message."""
    if selector is None:
        return NOTHING
    if not selector.match_labels and not selector.match_expressions:
        return EVERYTHING
    requirements = [
        requirement(key, Operator.IN, (selector.match_labels[key],)) for key in sorted(selector.match_labels)
    ]
    for expression in selector.match_expressions:
        if expression.operator not in _LABEL_SELECTOR_OPERATORS:
            raise InputError(f'"{expression.operator}" is not a valid label selector operator')
        requirements.append(requirement(expression.key, Operator(expression.operator), expression.values))
    return _selector(requirements)


def from_labels(labels: Mapping[str, str]) -> Selector:
    """Return the selector for objects with all these labels, unvalidated; empty labels select
    everything."""
    return _selector(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())


@lru_cache(maxsize=2048)
def requirement(key: str, operator: Operator, values: tuple[str, ...], path: str = "") -> Requirement:
    """Return a validated requirement; `path` is for the message of the `InputError`."""
    errors = requirement_errors(key, operator, values, path)
    if errors:
        raise InputError(field_errors.aggregate(errors))
    return Requirement(key, operator, tuple(sorted(set(values))))


def requirement_errors(key: str, operator: Operator, values: tuple[str, ...], path: str) -> list[str]:
    """Return the errors of a requirement, in upstream's order and wording."""
    errors = []
    if wrong := label_syntax.key_errors(key):
        errors.append(field_errors.invalid(field_errors.child(path, "key"), key, "; ".join(wrong)))
    values_path = field_errors.child(path, "values")
    errors += _value_set_errors(operator, values, values_path)
    for index, value in enumerate(values):
        if wrong := label_syntax.value_errors(value):
            value_path = field_errors.item(field_errors.item(values_path, index), key)
            errors.append(field_errors.invalid(value_path, value, "; ".join(wrong)))
    return errors


def parse_int64(text: str) -> int | None:
    """Parse a label value as an integer; None if it is not a 64-bit integer."""
    if not _INTEGER.fullmatch(text) or len(text) > _INTEGER_LENGTH:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _value_set_errors(operator: Operator, values: tuple[str, ...], path: str) -> list[str]:
    match operator:
        case Operator.IN | Operator.NOT_IN:
            return [] if values else [field_errors.invalid(path, values, EMPTY_SET)]
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            return [field_errors.invalid(path, values, NOT_EMPTY_SET)] if values else []
        case Operator.GT | Operator.LT:
            errors = [] if len(values) == 1 else [field_errors.invalid(path, values, NOT_ONE_VALUE)]
            return errors + [
                field_errors.invalid(field_errors.item(path, index), value, NOT_AN_INTEGER)
                for index, value in enumerate(values)
                if parse_int64(value) is None
            ]


def _selector(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(set(requirements))))
