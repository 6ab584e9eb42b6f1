# SPDX-License-Identifier: Apache-2.0
"""Parameters of a scenario: `${name}` in any text of the document is replaced by a value.

A text that consists of `${name}` becomes the value with its type; in a longer text the value is
formatted. `$${` is an escaped `${`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from steersman.api import similar
from steersman.base import InputError

ParameterValue: TypeAlias = str | int | float | bool

UNKNOWN_PARAMETER: Final = "is not a parameter of the scenario"
_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}|\$\{")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def values_of(declared: Any, given: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """Return declared parameters with overrides. Raises `InputError` for undeclared parameters."""
    if declared is None:
        declared = {}
    if not isinstance(declared, dict):
        raise InputError("must be a map", field="parameters", value=declared)
    for name, value in declared.items():
        if not _NAME.fullmatch(name):
            hint = "use letters, digits, '_', '-' and '.'"
            raise InputError("is not a parameter name", field="parameters", value=name, hint=hint)
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
    """Return the document with references replaced. Raises `InputError` for unknown parameters."""
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
