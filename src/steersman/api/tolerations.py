# SPDX-License-Identifier: Apache-2.0
"""Matching of tolerations and taints."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import Final

from steersman.api.scheduling import Taint, Toleration
from steersman.api.selectors import parse_int64

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"

_CANONICAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = False) -> bool:
    """Return whether the toleration matches the taint. An empty key or effect matches all; an empty
    operator means Equal.

    Lt and Gt match only with `comparison_operators`, an alpha feature.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt":
            return comparison_operators and _compares(toleration, taint)
        case _:
            return False


def find_untolerated_taint(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    effects: Container[str] | None = None,
    *,
    comparison_operators: bool = False,
) -> Taint | None:
    """Return the first untolerated taint with one of the `effects`, by default any."""
    for taint in taints:
        if effects is not None and taint.effect not in effects:
            continue
        if not any(tolerates(each, taint, comparison_operators=comparison_operators) for each in tolerations):
            return taint
    return None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, number = _canonical_integer(toleration.value), _canonical_integer(taint.value)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _canonical_integer(text: str) -> int | None:
    return parse_int64(text) if _CANONICAL_INTEGER.fullmatch(text) else None
