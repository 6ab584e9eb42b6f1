# SPDX-License-Identifier: Apache-2.0
"""Selectors in the syntax of kubectl and list queries: `app=web,tier in (a, b),!canary` and
`metadata.name=web`.

Compiled to a `Selector` of `selectors` or to `FieldSelectorRequirement`s. Raises `InputError` if
invalid.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from steersman.api.selectors import Operator, Requirement, Selector, requirement
from steersman.base import InputError

_LABELS_HINT: Final = 'expected for example "app=web,tier in (a, b),!canary"'
_FIELDS_HINT: Final = 'expected for example "metadata.name=web,status.phase!=Running"'
_FIELD: Final = re.compile(r"(?P<field>[^\s!=,]+)(?P<operator>==|!=|=)(?P<value>[^!=,]*)")
_TOKEN: Final = re.compile(r"\s*(==|!=|[=!()<>,]|[^=!()<>,\s]+)")
_SYMBOLS: Final = frozenset(("=", "==", "!=", "!", "(", ")", "<", ">", ","))
_BINARY: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
}


class SelectorSyntaxError(InputError):
    """Syntax error in a label selector, with kube-apiserver's message."""


class FieldSelectorRequirement(msgspec.Struct, frozen=True):
    """Requirement on a field, compared as text; an absent field is empty."""

    field: str
    value: str
    is_equal: bool = True

    def matches(self, document: dict[str, Any]) -> bool:
        found: Any = document
        for part in self.field.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return (_text(found) == self.value) == self.is_equal


def label_selector(text: str) -> Selector:
    """Parse a label selector; an empty one selects everything."""
    try:
        return parse_label_selector(text)
    except SelectorSyntaxError as error:
        raise InputError("is not a label selector", value=text, hint=_LABELS_HINT) from error


def field_selector(text: str) -> tuple[FieldSelectorRequirement, ...]:
    """Parse a field selector into requirements that must all hold."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return tuple(_field_requirement(part, text) for part in parts)


def _field_requirement(part: str, text: str) -> FieldSelectorRequirement:
    found = _FIELD.fullmatch(part)
    if found is None:
        raise InputError("is not a field selector", value=text, hint=_FIELDS_HINT)
    return FieldSelectorRequirement(found["field"], found["value"].strip(), found["operator"] != "!=")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


# -- label selectors -------------------------------------------------------------------------------


def parse_label_selector(text: str) -> Selector:
    """Parse a label selector such as `app=web,tier in (a,b),!legacy`.

    Raises `SelectorSyntaxError`, and `InputError` for invalid keys and values.
    """
    tokens = _Tokens(text)
    requirements = []
    while tokens.next:
        if not tokens.at_name and tokens.next != "!":
            raise SelectorSyntaxError(f"found '{tokens.next}', expected: !, identifier, or 'end of string'")
        requirements.append(_label_requirement(tokens))
        end = tokens.take()
        if end not in ("", ","):
            raise SelectorSyntaxError(f"found '{end}', expected: ',' or 'end of string'")
        if end and not tokens.at_name and tokens.next != "!":
            raise SelectorSyntaxError(f"found '{tokens.next}', expected: identifier after ','")
    return Selector().add(*requirements)


class _Tokens:
    """Tokens of a selector; "" at the end."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    @property
    def next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    @property
    def at_name(self) -> bool:
        return self.next not in _SYMBOLS and bool(self.next)

    def take(self) -> str:
        token, self._position = self.next, self._position + 1
        return token


def _label_requirement(tokens: _Tokens) -> Requirement:
    is_absent = tokens.next == "!"
    if is_absent:
        tokens.take()
    if not tokens.at_name:
        raise SelectorSyntaxError(f"unable to parse requirement: found '{tokens.next}', expected: identifier")
    key = tokens.take()
    exists = requirement(key, Operator.DOES_NOT_EXIST if is_absent else Operator.EXISTS, ())
    if is_absent or tokens.next in ("", ","):
        return exists
    operator = tokens.take()
    if operator not in _BINARY:
        raise SelectorSyntaxError(
            f"unable to parse requirement: found '{operator}', expected: in, notin, =, ==, !=, gt, lt"
        )
    values = _label_values(tokens) if operator in ("in", "notin") else [_label_value(tokens)]
    return requirement(key, _BINARY[operator], tuple(sorted(set(values))))


def _label_value(tokens: _Tokens) -> str:
    if tokens.next in ("", ","):
        return ""
    if not tokens.at_name:
        raise SelectorSyntaxError(f"unable to parse requirement: found '{tokens.next}', expected: identifier")
    return tokens.take()


def _label_values(tokens: _Tokens) -> list[str]:
    if (start := tokens.take()) != "(":
        raise SelectorSyntaxError(f"unable to parse requirement: found '{start}' expected: '('")
    if not tokens.at_name and tokens.next not in (",", ")"):
        raise SelectorSyntaxError(
            f"unable to parse requirement: found '{tokens.next}', expected: ',', ')' or identifier"
        )
    values = []
    while True:
        values.append(tokens.take() if tokens.at_name else "")
        end = tokens.take()
        if end == ")":
            return values
        if end != ",":
            raise SelectorSyntaxError(f"unable to parse requirement: found '{end}', expected: ',' or ')'")
