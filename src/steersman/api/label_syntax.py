# SPDX-License-Identifier: Apache-2.0
"""Syntax of label keys and values, with upstream's messages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_PATTERN: Final = re.compile(_NAME)
_VALUE_PATTERN: Final = re.compile(_VALUE)
_SUBDOMAIN_PATTERN: Final = re.compile(_SUBDOMAIN)
_MAX_NAME: Final = 63
_MAX_SUBDOMAIN: Final = 253

_EMPTY: Final = "must be non-empty"
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


@lru_cache(maxsize=4096)
def key_errors(key: str) -> tuple[str, ...]:
    """Return the errors of a label key: a name with optional DNS subdomain (`example.com/zone`)."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    errors = _subdomain_errors(prefix) if slash else []
    if not name:
        errors.append(f"name part {_EMPTY}")
    elif _size(name) > _MAX_NAME:
        errors.append(f"name part {_too_long(_MAX_NAME)}")
    if not _NAME_PATTERN.fullmatch(name):
        errors.append(f"name part {_NAME_RULE}")
    return tuple(errors)


@lru_cache(maxsize=4096)
def value_errors(value: str) -> tuple[str, ...]:
    """Return the errors of a label value."""
    errors = []
    if _size(value) > _MAX_NAME:
        errors.append(_too_long(_MAX_NAME))
    if not _VALUE_PATTERN.fullmatch(value):
        errors.append(_VALUE_RULE)
    return tuple(errors)


def _subdomain_errors(prefix: str) -> list[str]:
    if not prefix:
        return [f"prefix part {_EMPTY}"]
    errors = []
    if _size(prefix) > _MAX_SUBDOMAIN:
        errors.append(f"prefix part {_too_long(_MAX_SUBDOMAIN)}")
    if not _SUBDOMAIN_PATTERN.fullmatch(prefix):
        errors.append(f"prefix part {_SUBDOMAIN_RULE}")
    return errors


def _size(text: str) -> int:
    """Return the size in bytes of a text, which may contain lone surrogates from JSON."""
    return len(text.encode("utf-8", "surrogatepass"))


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"
