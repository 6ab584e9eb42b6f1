# SPDX-License-Identifier: Apache-2.0
"""How long properties are searched: two seconds each or less, times the factor STEERSMAN_EXAMPLES; see `make properties`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

Test = TypeVar("Test", bound=Callable[..., None])

FACTOR = float(os.environ.get("STEERSMAN_EXAMPLES", "1"))
#: Examples of a property that says nothing else, before the factor.
USUAL = 100


def scaled(count: int) -> int:
    """So many examples, times the factor."""
    return max(1, round(count * FACTOR))


def search(count: int, **others: Any) -> settings:
    """Settings with so many examples, times the factor; no deadline, since machines differ."""
    return settings(
        max_examples=scaled(count),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        **others,
    )


def examples(count: int) -> Callable[[Test], Test]:
    """Decorates a property with `search(count)`."""

    def decorate(test: Test) -> Test:
        return search(count)(test)

    return decorate
