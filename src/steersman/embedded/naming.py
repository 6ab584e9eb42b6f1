# SPDX-License-Identifier: Apache-2.0
"""Names and uids that the store assigns: different for every object, the same in every run."""

from __future__ import annotations

from functools import cache
from typing import Final

from steersman.api import Object

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like them, so that no words come out."""
_SUFFIX_LENGTH: Final = 5
_LONGEST_NAME: Final = 63


def assigned_uid(kind: type[Object], name: str, namespace: str, version: int) -> str:
    """`uid-pod-default-web-0-17`: `version`, in which the object is created, never comes twice."""
    if namespace:
        return f"uid-{_lower(kind.KIND)}-{namespace}-{name}-{version}"
    return f"uid-{_lower(kind.KIND)}-{name}-{version}"


def generated_name(prefix: str, version: int) -> str:
    """`prefix`, cut if the name would get too long, with a suffix of five or more characters that stands for `version`."""
    suffix = ""
    while version or len(suffix) < _SUFFIX_LENGTH:
        version, digit = divmod(version, len(_ALPHABET))
        suffix = _ALPHABET[digit] + suffix
    return prefix[: _LONGEST_NAME - len(suffix)] + suffix


@cache
def _lower(kind: str) -> str:
    return kind.lower()
