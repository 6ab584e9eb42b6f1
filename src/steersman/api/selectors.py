# SPDX-License-Identifier: Apache-2.0
"""Label selectors, compiled: what is written in an object (`meta.LabelSelector`) becomes a hashable `Selector`.

Equal selectors compare equal however they were written, so that results can be cached per selector or per requirement.
Node selectors build on the same requirements, see `steersman.api.node_selectors`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from steersman.api import field_errors, label_syntax
from steersman.api.meta import LabelSelector
from steersman.errors import InputError

EMPTY_SET: Final = "for 'in', 'notin' operators, values set can't be empty"
NOT_EMPTY_SET: Final = "values set must be empty for exists and does not exist"
NOT_ONE_VALUE: Final = "for 'Gt', 'Lt' operators, exactly one value is required"
NOT_AN_INTEGER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INTEGER_LENGTH: Final = 100
"""Longer digit strings are out of range, leading zeros or not, as far as anyone writes them."""


class Operator(enum.StrEnum):
    """How a label relates to the values of a requirement, spelled as in API objects."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_IN: Final = Operator.IN
_LABEL_SELECTOR_OPERATORS: Final = frozenset(
    {Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST},
)


class Requirement(msgspec.Struct, frozen=True, cache_hash=True, order=True):
    """One condition on one label. `values` are sorted and distinct."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Does the condition hold for an object with these labels?"""
        return self.matches_value(labels.get(self.key))

    def matches_value(self, value: str | None) -> bool:
        """Does the condition hold for this value of the label, None if the object does not have the label?"""
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return value is not None and self._compares(value)

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
    """Requirements that must all hold, sorted and distinct; None stands for the selector that matches nothing."""

    requirements: tuple[Requirement, ...] | None = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Is an object with these labels selected?"""
        requirements = self.requirements
        if requirements is None:
            return False
        for requirement in requirements:
            value = labels.get(requirement.key)
            if requirement.operator is _IN:  # nearly all requirements; a call less
                if value not in requirement.values:
                    return False
            elif not requirement.matches_value(value):
                return False
        return True

    @property
    def empty(self) -> bool:
        """Does it select everything, because it has no requirement?"""
        return self.requirements == ()

    @property
    def keys(self) -> frozenset[str]:
        """The labels on which the selection depends."""
        return frozenset(requirement.key for requirement in self.requirements or ())

    def add(self, *requirements: Requirement) -> Selector:
        """A selector with further requirements; nothing can be added to the one that matches nothing."""
        return self if self.requirements is None else _selector((*self.requirements, *requirements))

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements or ())


EVERYTHING: Final = Selector(())
NOTHING: Final = Selector(None)


def from_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile: an absent selector matches nothing, an empty one everything; `InputError` carries upstream's message."""
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
    """The selector for objects that have all of these labels; empty labels select everything. Nothing is validated."""
    return _selector(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())


@lru_cache(maxsize=2048)
def requirement(key: str, operator: Operator, values: tuple[str, ...], path: str = "") -> Requirement:
    """A validated requirement; `path` is where it stands, for the message of the `InputError`."""
    errors = requirement_errors(key, operator, values, path)
    if errors:
        raise InputError(field_errors.aggregate(errors))
    return Requirement(key, operator, tuple(sorted(set(values))))


def requirement_errors(key: str, operator: Operator, values: tuple[str, ...], path: str) -> list[str]:
    """Complaints about the parts of a requirement, in upstream's order and wording."""
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
    """The integer that a label value stands for, None if it is not one or does not fit 64 bits."""
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
