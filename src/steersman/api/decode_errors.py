# SPDX-License-Identifier: Apache-2.0
"""Conversion of msgspec's errors to `InputError` with field path and value.

`codec` and `manifests` call this after decoding failed; speed does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from steersman.base import InputError

TRUNCATED: Final = "the JSON ends in the middle"
NOT_UTF8: Final = "is not UTF-8 text"

_TYPE_NAMES: Final = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "null",
}
_PYTHON_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "array": (list, tuple),
    "object": dict,
    "null": type(None),
}
_WRONG_TYPE: Final = re.compile(r"Expected `([^`]+)`, got `(\w+)`")
_OUT_OF_RANGE: Final = re.compile(r"Expected `int` (<=|>=) (-?\d+)")
_PATH: Final = re.compile(r" - at (`key` in )?`\$(.*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""Escape in a JSON string: a surrogate pair, a lone surrogate (group 1), or any other."""
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")


def invalid(error: msgspec.ValidationError, data: Any) -> InputError:
    """Return the error for a value of the wrong type or range in well-formed `data`."""
    text = str(error)
    path = _PATH.search(text)
    complaint = text[: path.start()] if path else text
    wrong_type = _WRONG_TYPE.match(complaint)
    field, value = _locate(path[2] if path else "", data, wrong_type[2] if wrong_type else "")
    if path and path[1]:
        return InputError("a key must be a string", field=field or None, hint="write it in quotes")
    return InputError(
        _message(complaint),
        field=field or None,
        value=value,
        hint=_quoting_hint(wrong_type[1], value) if wrong_type else None,
    )


def malformed(error: msgspec.DecodeError | UnicodeDecodeError, data: bytes) -> InputError:
    """Return the error for a document that is not JSON."""
    if isinstance(error, UnicodeDecodeError):
        return InputError(NOT_UTF8)
    text = str(error)
    lone = _lone_surrogate(data) if "truncated" in text or "surrogate" in text else None
    if lone is not None:
        return InputError(
            f"the escape {lone[1].decode()} is half of a surrogate pair, which is no character",
            line=data.count(b"\n", 0, lone.start()) + 1,
            hint="write both halves, or the character itself in UTF-8",
        )
    if "truncated" in text:
        return InputError(TRUNCATED, line=data.count(b"\n") + 1)
    byte = _BYTE.search(text)
    if byte is None:
        return InputError(text)
    return InputError(text[: byte.start()], line=data.count(b"\n", 0, int(byte[1])) + 1)


def _lone_surrogate(data: bytes) -> re.Match[bytes] | None:
    """Return the first lone surrogate; ignore one at the very end, which may be truncated."""
    escapes = (escape for escape in _ESCAPE.finditer(data) if escape[1] and escape.end() < len(data))
    return next(escapes, None)


def _message(complaint: str) -> str:
    if match := _WRONG_TYPE.match(complaint):
        expected = match[1].split(" | ")
        names = [name for name in expected if name != "null" and not (name == "int" and "float" in expected)]
        return f"must be {' or '.join(_TYPE_NAMES.get(name, name) for name in names)}"
    if match := _OUT_OF_RANGE.match(complaint):
        return f"must be at {'most' if match[1] == '<=' else 'least'} {match[2]}"
    return complaint


def _quoting_hint(expected: str, value: Any) -> str | None:
    if "str" in expected.split(" | ") and isinstance(value, bool | int | float):
        return "write it in quotes"
    return None


def place(error: msgspec.ValidationError, data: Any) -> tuple[str | int, ...]:
    """Return the names and indexes that lead to the invalid value; empty for the whole."""
    text = str(error)
    path, wrong_type = _PATH.search(text), _WRONG_TYPE.match(text)
    return tuple(step for step, _, _ in _walk(path[2] if path else "", data, wrong_type[2] if wrong_type else ""))


def _locate(path: str, data: Any, got: str) -> tuple[str, Any]:
    """Return the field path in Kubernetes' notation, and the value there."""
    field = ""
    for step, in_brackets, value in _walk(path, data, got):
        field += f"[{step}]" if in_brackets else f".{step}" if field else str(step)
        data = value
    return field, data


def _walk(path: str, data: Any, got: str) -> Iterator[tuple[str | int, bool, Any]]:
    """Yield each step of msgspec's path: name or index, whether it is in brackets, and the value
    there.

    msgspec does not name the invalid entry of a map; the first one of the reported type is assumed.
    """
    for name, index, any_entry in _STEP.findall(path):
        step: str | int = _culprit(data, got) if any_entry else int(index) if index else name
        if isinstance(step, int):
            data = data[step] if isinstance(data, list | tuple) and step < len(data) else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
        yield step, bool(any_entry or index), data


def _culprit(entries: Any, got: str) -> str:
    wanted = _PYTHON_TYPES.get(got)
    if wanted is None or not isinstance(entries, dict):
        return "…"
    return next((str(name) for name, value in entries.items() if isinstance(value, wanted)), "…")
