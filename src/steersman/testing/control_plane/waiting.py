# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, with a deadline. Used by everything here that starts something."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

INTERVAL: Final = 0.05
"""Seconds between two looks."""


def wait_until(condition: Callable[[], T], timeout: float = 30.0, *, what: str = "", interval: float = INTERVAL) -> T:
    """Asks again and again until the answer is true, and returns it; `TimeoutError` names what was waited for."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{what or 'the condition'} did not come true within {timeout:g} s; last answer: {answer!r}"
            )
        time.sleep(interval)
    return answer
