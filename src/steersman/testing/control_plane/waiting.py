# SPDX-License-Identifier: Apache-2.0
"""Polling with a deadline, for everything here that starts a process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

INTERVAL: Final = 0.05
"""Polling interval in seconds."""


def wait_until(condition: Callable[[], T], timeout: float = 30.0, *, what: str = "", interval: float = INTERVAL) -> T:
    """Call `condition` until its result is true, and return it, or raise `TimeoutError`."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{what or 'the condition'} did not come true within {timeout:g} s; last answer: {answer!r}"
            )
        time.sleep(interval)
    return answer
