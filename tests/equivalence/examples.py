# SPDX-License-Identifier: Apache-2.0
"""How long properties are searched: a few seconds each, or as long as STEERSMAN_EXAMPLES says (a factor, such as 20)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, settings

Test = TypeVar("Test", bound=Callable[..., None])

FACTOR = float(os.environ.get("STEERSMAN_EXAMPLES", "1"))


def examples(count: int) -> Callable[[Test], Test]:
    """So many examples, times the factor; no deadline, since machines differ."""

    def decorate(test: Test) -> Test:
        limited = settings(
            max_examples=max(1, round(count * FACTOR)),
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        return limited(test)

    return decorate
