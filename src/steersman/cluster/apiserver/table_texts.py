# SPDX-License-Identifier: Apache-2.0
"""Texts of table cells, as in upstream's printers: ages, labels, selectors, truncated lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from steersman.api import timestamps
from steersman.base import InputError

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"
INVALID: Final = "<invalid>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def age(time: Any, now: float) -> str:
    """Return the age of a timestamp; `<unknown>` if it is empty."""
    if not time:
        return UNKNOWN
    try:
        return human_duration(now - timestamps.parse(str(time)))
    except InputError:
        return INVALID


def human_duration(seconds: float) -> str:
    """Format a duration in at most two units: `59s`, `3m20s`, `47m`, `5h2m`, `300d`, `4y12d`."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 48 * _HOUR:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two_units(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * 365 * _DAY:
        return f"{whole // _DAY}d"
    if whole < 8 * 365 * _DAY:
        return _two_units(whole, 365 * _DAY, "y", _DAY, "d")
    return f"{whole // (365 * _DAY)}y"


def _two_units(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    count, rest = divmod(seconds, large)
    return f"{count}{large_name}{rest // small}{small_name}" if rest // small else f"{count}{large_name}"


def labels_text(labels: Mapping[str, Any] | None) -> str:
    """Format labels as `a=b,c=d`, or `<none>`."""
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """Return a label selector in the syntax of `kubectl -l`, "" for one that selects everything."""
    selector = selector or {}
    parts = [(name, f"{name}={value}") for name, value in (selector.get("matchLabels") or {}).items()]
    parts += ((str(term.get("key")), _expression(term)) for term in selector.get("matchExpressions") or ())
    return ",".join(text for _, text in sorted(parts))


def _expression(term: Mapping[str, Any]) -> str:
    key, values = term.get("key"), ",".join(sorted(term.get("values") or ()))
    operator = term.get("operator")
    if operator == "Exists":
        return f"{key}"
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {'in' if operator == 'In' else 'notin'} ({values})"


def with_more(texts: Sequence[str], most: int = 3, separator: str = ",") -> str:
    """Join at most `most` texts, followed by the number of omitted ones."""
    shown = separator.join(texts[:most])
    return f"{shown} + {len(texts) - most} more..." if len(texts) > most else shown


def access_modes_text(modes: Iterable[str] | None) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    present = set(modes or ())
    return ",".join(text for mode, text in short.items() if mode in present)
