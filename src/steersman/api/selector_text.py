# SPDX-License-Identifier: Apache-2.0
"""Selectors as kubectl and the queries of lists write them: `app=web,tier in (a, b),!canary` and `metadata.name=web`.

Compiled to the `Selector` of `selectors`, or to `FieldSelectorRequirement` entries; InputError for what is neither.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from steersman.api.selectors import Operator, Requirement, Selector, requirement
from steersman.errors import InputError

_LABELS_HINT: Final = 'expected for example "app=web,tier in (a, b),!canary"'
_FIELDS_HINT: Final = 'expected for example "metadata.name=web,status.phase!=Running"'
_NEXT: Final = re.compile(r",(?![^()]*\))")
"""The commas between requirements, not those between the values of one."""
_SET: Final = re.compile(r"(?P<key>[^\s!=,()<>]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")
_COMPARED: Final = re.compile(r"(?P<key>[^\s!=,()<>]+)\s*(?P<operator>==|!=|=|>|<)\s*(?P<values>[^\s!=,()<>]*)")
_PRESENT: Final = re.compile(r"(?P<operator>!?)\s*(?P<key>[^\s!=,()<>]+)")
_FIELD: Final = re.compile(r"(?P<field>[^\s!=,]+)(?P<operator>==|!=|=)(?P<value>[^!=,]*)")
_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
    "": Operator.EXISTS,
    "!": Operator.DOES_NOT_EXIST,
}


class FieldSelectorRequirement(msgspec.Struct, frozen=True):
    """A condition on one field, which is compared as text; an absent field is empty."""

    field: str
    value: str
    is_equal: bool = True

    def matches(self, document: dict[str, Any]) -> bool:
        found: Any = document
        for part in self.field.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return (_text(found) == self.value) == self.is_equal


def label_selector(text: str) -> Selector:
    """The selector that a text stands for; an empty one selects everything."""
    parts = [part.strip() for part in _NEXT.split(text)] if text.strip() else []
    return Selector().add(*(_requirement(part, text) for part in parts))


def field_selector(text: str) -> tuple[FieldSelectorRequirement, ...]:
    """Conditions that must all hold; none for an empty text."""
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    return tuple(_field_requirement(part, text) for part in parts)


def _requirement(part: str, text: str) -> Requirement:
    found = _SET.fullmatch(part) or _COMPARED.fullmatch(part) or _PRESENT.fullmatch(part)
    if found is None:
        raise InputError("is not a label selector", value=text, hint=_LABELS_HINT)
    written = found.groupdict().get("values")
    values = () if written is None else tuple(value.strip() for value in written.split(","))
    return requirement(found["key"], _OPERATORS[found["operator"]], values)


def _field_requirement(part: str, text: str) -> FieldSelectorRequirement:
    found = _FIELD.fullmatch(part)
    if found is None:
        raise InputError("is not a field selector", value=text, hint=_FIELDS_HINT)
    return FieldSelectorRequirement(found["field"], found["value"].strip(), found["operator"] != "!=")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
