# SPDX-License-Identifier: Apache-2.0
"""Work in calls of functions, which does not depend on the machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def calls_during(action: Callable[[], object]) -> int:
    """Return how many functions were called, those written in C included."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls
