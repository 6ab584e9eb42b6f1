# SPDX-License-Identifier: Apache-2.0
"""Differences, reported by all conformance runners, and generic comparison of JSON values."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class GoldenDifference(msgspec.Struct, frozen=True):
    """A place where the result differs from the expected one."""

    path: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected!r}, got {self.actual!r}"


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""Placeholder for a missing key or item."""


def differences(path: str, expected: object, actual: object) -> Iterator[GoldenDifference]:
    """Yield every difference of two JSON values; `1` equals `1.0`, but not `true`."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            where = f"{path}.{key}" if path else str(key)
            yield from differences(where, expected.get(key, MISSING), actual.get(key, MISSING))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            yield from differences(f"{path}[{index}]", _item(expected, index), _item(actual, index))
    elif isinstance(expected, bool) is not isinstance(actual, bool) or expected != actual:
        yield GoldenDifference(path, expected, actual)


def _item(items: list[object], index: int) -> object:
    return items[index] if index < len(items) else MISSING
