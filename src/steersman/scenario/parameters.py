# SPDX-License-Identifier: Apache-2.0
"""Parameters of a scenario: `${name}` in any text of the document stands for a value that can be given from outside.

A text that is nothing but `${name}` becomes the value with its type; inside of a longer text it is written out. `$${` is a
dollar sign and a brace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from steersman.errors import InputError

ParameterValue: TypeAlias = str | int | float | bool

UNKNOWN_PARAMETER: Final = "is no parameter of the scenario"
_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}|\$\{")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def values_of(declared: Any, given: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """The declared parameters with the values that were given; raises `InputError` for one that was not declared."""
    if declared is None:
        declared = {}
    if not isinstance(declared, dict):
        raise InputError("must be a map", field="parameters", value=declared)
    for name, value in declared.items():
        if not _NAME.fullmatch(name):
            hint = "use letters, digits, '_', '-' and '.'"
            raise InputError("is no name of a parameter", field="parameters", value=name, hint=hint)
        if not isinstance(value, ParameterValue):
            hint = "write the value that it has unless another one is given"
            raise InputError(
                "must be a number, a string or true or false", field=f"parameters.{name}", value=value, hint=hint
            )
    for name in given:
        if name not in declared:
            raise InputError(UNKNOWN_PARAMETER, value=name, hint=similar(name, list(declared)))
    return {**declared, **given}


def substituted(document: Any, values: Mapping[str, ParameterValue], path: str = "") -> Any:
    """The document with the values in place of the references; raises `InputError` with the path of an unknown one."""
    if isinstance(document, str):
        return _text(document, values, path) if "${" in document else document
    if isinstance(document, list):
        return [substituted(item, values, f"{path}[{index}]") for index, item in enumerate(document)]
    if isinstance(document, dict):
        return {
            name: substituted(value, values, f"{path}.{name}" if path else str(name))
            for name, value in document.items()
        }
    return document


def similar(name: str, known: list[str]) -> str:
    """A hint: which one of the known names was probably meant, or which there are."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"there are {', '.join(known)}" if known else "there are none"


def _text(text: str, values: Mapping[str, ParameterValue], path: str) -> ParameterValue:
    whole = _REFERENCE.fullmatch(text)
    if whole is not None and whole[2]:
        return _value(whole[2], values, path)

    def written(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        if not match[2]:
            hint = "write ${name}, or $${ for a dollar sign and a brace"
            raise InputError("has a parameter that does not end", field=path, value=text, hint=hint)
        value = _value(match[2], values, path)
        return str(value).lower() if isinstance(value, bool) else str(value)

    return _REFERENCE.sub(written, text)


def _value(name: str, values: Mapping[str, ParameterValue], path: str) -> ParameterValue:
    if name not in values:
        raise InputError(UNKNOWN_PARAMETER, field=path, value=f"${{{name}}}", hint=similar(name, list(values)))
    return values[name]
